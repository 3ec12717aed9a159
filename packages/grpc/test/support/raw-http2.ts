import { connect, createServer, type Server, type Socket } from 'node:net';

/** HTTP/2 by hand, for what no decent peer would send. */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const DATA = 0x0;
export const HEADERS = 0x1;
export const RST_STREAM = 0x3;
export const SETTINGS = 0x4;
export const PING = 0x6;
export const GOAWAY = 0x7;
export const WINDOW_UPDATE = 0x8;
export const CONTINUATION = 0x9;

export const ACK = 0x1;
export const END_STREAM = 0x1;
export const END_HEADERS = 0x4;

export interface RawFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export function rawFrame(
  type: number,
  flags: number,
  streamId: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export function setting(id: number, value: number): Buffer {
  return Buffer.concat([Buffer.from([id >> 8, id & 0xff]), uint32(value)]);
}

/** HPACK without any of its arts: every entry a literal that is not indexed. */
export function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]),
  );
}

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes]);
  const length = [127];
  let rest = bytes.length - 127;
  while (rest > 127) {
    length.push((rest & 127) | 128);
    rest >>>= 7;
  }
  return Buffer.concat([Buffer.from([...length, rest]), bytes]);
}

export function callHeaders(headers: Readonly<Record<string, string>> = {}): Buffer {
  return headerBlock({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': '/a.B/C',
    ':authority': 'localhost',
    'content-type': 'application/grpc',
    te: 'trailers',
    ...headers,
  });
}

/** One end of a connection: what came is cut into frames, what is sent is the test's business. */
export class RawPeer {
  readonly frames: RawFrame[] = [];
  isClosed = false;
  readonly socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  #skip: number;
  #wake: (() => void)[] = [];

  constructor(socket: Socket, skipBytes = 0) {
    this.socket = socket;
    this.#skip = skipBytes;
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => this.#received(chunk));
    socket.on('close', () => {
      this.isClosed = true;
      this.#wakeAll();
    });
  }

  /** A client that has said hello. */
  static async greeted(port: number, settings: Buffer = Buffer.alloc(0)): Promise<RawPeer> {
    const peer = await RawPeer.connected(port);
    peer.send(PREFACE, rawFrame(SETTINGS, 0, 0, settings));
    await peer.saw((frame) => frame.type === SETTINGS);
    peer.send(rawFrame(SETTINGS, ACK, 0));
    return peer;
  }

  static connected(port: number): Promise<RawPeer> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(new RawPeer(socket)));
      socket.once('error', reject);
    });
  }

  send(...frames: Buffer[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames));
  }

  /** The first frame that is so, now or later; undefined when the connection ends before. */
  async saw(isSo: (frame: RawFrame) => boolean): Promise<RawFrame | undefined> {
    for (;;) {
      const found = this.frames.find(isSo);
      if (found !== undefined || this.isClosed) return found;
      await this.#changed();
    }
  }

  async closed(): Promise<void> {
    while (!this.isClosed) await this.#changed();
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => this.#wake.push(resolve));
  }

  #wakeAll(): void {
    for (const wake of this.#wake.splice(0)) wake();
  }

  #received(chunk: Buffer): void {
    const skipped = Math.min(this.#skip, chunk.length);
    this.#skip -= skipped;
    this.#rest = Buffer.concat([this.#rest, chunk.subarray(skipped)]);
    while (this.#rest.length >= 9) {
      const end = 9 + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) break;
      this.frames.push({
        type: this.#rest[3] as number,
        flags: this.#rest[4] as number,
        streamId: this.#rest.readUInt32BE(5),
        payload: this.#rest.subarray(9, end),
      });
      this.#rest = this.#rest.subarray(end);
    }
    this.#wakeAll();
  }
}

export interface RawServer {
  readonly server: Server;
  readonly port: number;
  readonly peers: RawPeer[];
  close(): void;
}

/** A server on which the test itself speaks, as each client comes. */
export function rawServer(onPeer: (peer: RawPeer) => void = () => {}): Promise<RawServer> {
  const peers: RawPeer[] = [];
  const server = createServer((socket) => {
    const peer = new RawPeer(socket, PREFACE.length);
    peers.push(peer);
    onPeer(peer);
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve({
        server,
        port: typeof address === 'object' && address !== null ? address.port : 0,
        peers,
        close: () => {
          server.close();
          for (const { socket } of peers) socket.destroy();
        },
      });
    });
  });
}
