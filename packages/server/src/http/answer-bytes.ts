/** An answer as it goes over the wire: head and body in one piece wherever that is cheaper than two. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';

const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/** Up to this size it costs less to copy a body than to give the socket a second piece. */
const COPIED_BYTES = 16 * 1024;

export interface Answer {
  /** In latin1. */
  readonly head: string;
  readonly body: string | Buffer;
  /** Of the body. */
  readonly bodyBytes: number;
}

/** Everything down to the empty line. Throws for a status or a header that cannot be sent. */
export function answerHead(
  status: number,
  ownLines: string,
  headers: Readonly<Record<string, string>>,
): string {
  if (!(Number.isInteger(status) && status >= 200 && status <= 999)) {
    throw new RangeError(`expected a status from 200 up, got ${status}.`);
  }
  let head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${ownLines}`;
  for (const name in headers) {
    const value: unknown = headers[name];
    if (isOwn(name)) continue;
    if (!NAME.test(name)) throw new TypeError(`${JSON.stringify(name)} is not a valid header name.`);
    if (typeof value !== 'string' || !VALUE.test(value)) {
      throw new TypeError(`${JSON.stringify(value)} is not a valid value of the header ${name}.`);
    }
    head += `${name}: ${value}\r\n`;
  }
  return `${head}date: ${today()}\r\n\r\n`;
}

/** Where a message ends is not for a handler to say. */
function isOwn(name: string): boolean {
  if (name.length !== 14 && name.length !== 17) return false;
  const lower = name.toLowerCase();
  return lower === 'content-length' || lower === 'transfer-encoding';
}

/** In bytes. */
export function answerSize({ head, bodyBytes }: Answer): number {
  return head.length + bodyBytes;
}

export function writeAnswer(socket: Socket, { head, body, bodyBytes }: Answer): void {
  if (bodyBytes === 0) socket.write(head, 'latin1');
  // ASCII, as most answers are, need not be encoded.
  else if (typeof body === 'string' && bodyBytes === body.length) socket.write(head + body, 'latin1');
  else if (typeof body === 'string' || bodyBytes <= COPIED_BYTES) socket.write(joined(head, body, bodyBytes));
  else {
    socket.cork();
    socket.write(head, 'latin1');
    socket.write(body);
    socket.uncork();
  }
}

function joined(head: string, body: string | Buffer, bodyBytes: number): Buffer {
  const bytes = Buffer.allocUnsafe(head.length + bodyBytes);
  bytes.write(head, 'latin1');
  if (typeof body === 'string') bytes.write(body, head.length);
  else body.copy(bytes, head.length);
  return bytes;
}

let second = 0;
let date = '';

/** Made once a second, not once an answer. */
function today(): string {
  const now = Math.floor(Date.now() / 1000);
  if (now !== second) {
    second = now;
    date = new Date(now * 1000).toUTCString();
  }
  return date;
}
