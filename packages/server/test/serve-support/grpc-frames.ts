/** Unary calls whose requests are any bytes, in DATA frames of any size: what no client library sends. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const DATA = 0x0;
const HEADERS = 0x1;
const RST_STREAM = 0x3;
const SETTINGS = 0x4;
const PING = 0x6;
const WINDOW_UPDATE = 0x8;
const ACK = 0x1;
const END_STREAM = 0x1;
const END_HEADERS = 0x4;

const INFER_PATH = '/inference.GRPCInferenceService/ModelInfer';
const HEAD_BYTES = 9;
const INITIAL_WINDOW_SIZE = 4;
/** Written to the socket at a time. */
const WRITE_BYTES = 256 * 1024;

/** With the prefix of gRPC. */
export function framed(message: Uint8Array, isCompressed = false): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = isCompressed ? 1 : 0;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

export interface FramedCall {
  /** @default ModelInfer's */
  readonly path?: string;
  readonly encoding?: string;
  /** Of the body in one DATA frame. @default 16,384 */
  readonly frameBytes?: number;
}

/** Sends the call on a connection of its own, and resolves when it or the connection has ended. */
export async function sendFramed(port: number, body: Buffer, call: FramedCall = {}): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  await new FramedSender(socket, body, call).ended;
  socket.destroy();
}

class FramedSender {
  readonly ended: Promise<void>;
  readonly #socket: Socket;
  readonly #body: Buffer;
  readonly #frameBytes: number;
  #sent = 0;
  /** What the peer accepts: on the connection, on the stream. */
  #windows: [number, number] = [65_535, 65_535];
  #rest: Buffer = Buffer.alloc(0);
  #end: () => void = () => {};

  constructor(
    socket: Socket,
    body: Buffer,
    { path = INFER_PATH, encoding, frameBytes = 16_384 }: FramedCall,
  ) {
    this.#socket = socket;
    this.#body = body;
    this.#frameBytes = frameBytes;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    socket.on('error', () => {});
    socket.on('close', () => this.#end());
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.on('drain', () => this.#send());
    // Answers of any size are taken.
    socket.write(PREFACE);
    socket.write(rawFrame(SETTINGS, 0, 0, Buffer.from([0, INITIAL_WINDOW_SIZE, 0x7f, 0xff, 0xff, 0xff])));
    socket.write(rawFrame(WINDOW_UPDATE, 0, 0, Buffer.from([0x7f, 0xff, 0, 0])));
    const headers = headerBlock({
      ':method': 'POST',
      ':scheme': 'http',
      ':path': path,
      ':authority': 'localhost',
      'content-type': 'application/grpc',
      te: 'trailers',
      ...(encoding === undefined ? {} : { 'grpc-encoding': encoding }),
    });
    socket.write(rawFrame(HEADERS, END_HEADERS, 1, headers));
    this.#send();
  }

  #send(): void {
    while (this.#sent < this.#body.length && !this.#socket.writableNeedDrain) {
      const room = Math.min(...this.#windows);
      if (room <= 0) return;
      const frames: Buffer[] = [];
      let bytes = 0;
      while (
        bytes < Math.min(room, WRITE_BYTES) &&
        this.#sent < this.#body.length &&
        frames.length < 10_000
      ) {
        const part = this.#body.subarray(this.#sent, this.#sent + Math.min(this.#frameBytes, room - bytes));
        this.#sent += part.length;
        bytes += part.length;
        frames.push(rawFrame(DATA, this.#sent === this.#body.length ? END_STREAM : 0, 1, part));
      }
      this.#windows = [this.#windows[0] - bytes, this.#windows[1] - bytes];
      this.#socket.write(Buffer.concat(frames));
    }
  }

  #received(chunk: Buffer): void {
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (rest.length >= HEAD_BYTES) {
      const end = HEAD_BYTES + rest.readUIntBE(0, 3);
      if (rest.length < end) break;
      this.#frame(rest[3] as number, rest[4] as number, rest.readUInt32BE(5), rest.subarray(HEAD_BYTES, end));
      rest = rest.subarray(end);
    }
    this.#rest = rest;
    this.#send();
  }

  #frame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (type === SETTINGS && (flags & ACK) === 0) {
      for (let at = 0; at < payload.length; at += 6) {
        if (payload.readUInt16BE(at) === INITIAL_WINDOW_SIZE)
          this.#windows[1] += payload.readUInt32BE(at + 2) - 65_535;
      }
      this.#socket.write(rawFrame(SETTINGS, ACK, 0));
    } else if (type === PING && (flags & ACK) === 0) {
      this.#socket.write(rawFrame(PING, ACK, 0, payload));
    } else if (type === WINDOW_UPDATE) {
      this.#windows[streamId === 0 ? 0 : 1] += payload.readUInt32BE(0);
    } else if (type === RST_STREAM || (streamId === 1 && (flags & END_STREAM) !== 0 && type !== DATA)) {
      this.#end();
    } else if (type === DATA && (flags & END_STREAM) !== 0) {
      this.#end();
    }
  }
}

function rawFrame(type: number, flags: number, streamId: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/** HPACK with every entry a literal that is not indexed, of less than 127 bytes. */
function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const literal = (text: string) => Buffer.from([text.length, ...Buffer.from(text)]);
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]),
  );
}
