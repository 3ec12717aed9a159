/** Minimal HTTP/2 (RFC 9113) by hand, for bytes that a client library does not send. */
import { connect, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export const FRAME = {
  DATA: 0x0,
  HEADERS: 0x1,
  PRIORITY: 0x2,
  RST_STREAM: 0x3,
  SETTINGS: 0x4,
  PING: 0x6,
  GOAWAY: 0x7,
  WINDOW_UPDATE: 0x8,
  CONTINUATION: 0x9,
} as const;

export const FLAG = { END_STREAM: 0x1, ACK: 0x1, END_HEADERS: 0x4, PADDED: 0x8 } as const;

export const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export function h2Frame(
  type: number,
  flags: number,
  stream: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

export function settingsFrame(...entries: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * entries.length);
  entries.forEach(([id, value], index) => {
    payload.writeUInt16BE(id, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  });
  return h2Frame(FRAME.SETTINGS, 0, 0, payload);
}

export function resetFrame(stream: number, code: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(code);
  return h2Frame(FRAME.RST_STREAM, 0, stream, payload);
}

/** Headers as literals without indexing and without Huffman coding (RFC 7541, 6.2.2). */
export function headerBlock(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.of(0), hpackText(name), hpackText(value)]));
}

export function callHeaders(port: number, path: string): [string, string][] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', `127.0.0.1:${port}`],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
  ];
}

function hpackText(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([hpackInteger(bytes.length, 7), bytes]);
}

function hpackInteger(value: number, bits: number): Buffer {
  const most = 2 ** bits - 1;
  if (value < most) return Buffer.of(value);
  const bytes = [most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** A connected socket, before the connection preface. Closed after the current test. */
export async function rawSocket(port: number): Promise<RawSocket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  const raw = new RawSocket(socket);
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  return raw;
}

export interface ReceivedFrame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export class RawSocket {
  readonly socket: Socket;
  /** Resolves when the peer has closed or reset the connection. */
  readonly closed: Promise<void>;
  readonly frames: ReceivedFrame[] = [];
  received = Buffer.alloc(0);
  isClosed = false;
  #onFrame: (() => void)[] = [];

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        this.isClosed = true;
        this.#wake();
        resolve();
      });
    });
    socket.on('data', (chunk) => this.#take(chunk));
  }

  /** Sends the connection preface and SETTINGS (RFC 9113, 3.4). */
  begin(): void {
    this.socket.write(Buffer.concat([preface, settingsFrame()]));
  }

  /** Resolves when the kernel has accepted the bytes, or the connection is closed. */
  async write(bytes: Buffer): Promise<void> {
    if (this.isClosed || !this.socket.writable) return;
    const written = new Promise<void>((resolve) => this.socket.write(bytes, () => resolve()));
    await Promise.race([written, this.closed]);
  }

  /** The first past or future frame that matches; undefined if the connection ends before it. */
  async until(fits: (frame: ReceivedFrame) => boolean): Promise<ReceivedFrame | undefined> {
    for (;;) {
      const frame = this.frames.find(fits);
      if (frame !== undefined || this.isClosed) return frame;
      await new Promise<void>((resolve) => this.#onFrame.push(resolve));
    }
  }

  #take(chunk: Buffer): void {
    this.received = Buffer.concat([this.received, chunk]);
    for (;;) {
      if (this.received.length < 9) break;
      const length = this.received.readUIntBE(0, 3);
      if (this.received.length < 9 + length) break;
      this.frames.push({
        type: this.received.readUInt8(3),
        flags: this.received.readUInt8(4),
        stream: this.received.readUInt32BE(5),
        payload: this.received.subarray(9, 9 + length),
      });
      this.received = this.received.subarray(9 + length);
    }
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#onFrame.splice(0)) wake();
  }
}
