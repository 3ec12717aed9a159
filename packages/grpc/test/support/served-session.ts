import { HpackDecoder } from '../../src/http2/hpack-decoder.js';
import type { ReceivedRequest } from '../../src/http2/received-request.js';
import { ServerSession, type ServerSessionOptions } from '../../src/http2/server-session.js';
import type { ServerStream, ServerStreamListener } from '../../src/http2/server-stream.js';
import { FakeSocket } from './fake-socket.js';
import { ACK, CONTINUATION, HEADERS, PREFACE, type RawFrame, rawFrame, SETTINGS } from './raw-http2.js';

/** A request as a session has handed it out, and what became of it. */
export class ServedStream implements ServerStreamListener {
  readonly stream: ServerStream;
  readonly request: ReceivedRequest;
  readonly events: string[] = [];
  readonly chunks: Buffer[] = [];

  constructor(stream: ServerStream, request: ReceivedRequest) {
    this.stream = stream;
    this.request = request;
    stream.listen(this);
  }

  received(chunk: Buffer): void {
    this.events.push('received');
    this.chunks.push(chunk);
  }

  ended(): void {
    this.events.push('ended');
  }

  drained(): void {
    this.events.push('drained');
  }

  answered(): void {
    this.events.push('answered');
  }

  closed(): void {
    this.events.push('closed');
  }
}

/** A server's session on a socket without a network. */
export class ServedSession {
  readonly socket = new FakeSocket();
  readonly streams: ServedStream[] = [];
  readonly told: string[] = [];
  readonly unwanted = new Set<ServerStream>();
  readonly session: ServerSession;
  onOpened: (served: ServedStream) => void = ({ stream }) => stream.resume();
  now = 0;
  heldBytes = 0;
  mostHeldBytes = Number.POSITIVE_INFINITY;

  constructor(options: Partial<ServerSessionOptions> = {}) {
    this.session = new ServerSession(
      this.socket.asSocket,
      {
        streamWindowBytes: 1000,
        connectionWindowBytes: 100_000,
        maxStreams: 100,
        maxHeaderBytes: 16_384,
        maxUnwantedBytes: 5000,
        now: () => this.now,
        ...options,
      },
      {
        hold: (bytes) => {
          if (this.heldBytes + bytes > this.mostHeldBytes) return false;
          this.heldBytes += bytes;
          return true;
        },
        letGo: (bytes) => {
          this.heldBytes -= bytes;
        },
        awaitsEnd: (stream) => this.unwanted.add(stream),
        endCame: (stream) => this.unwanted.delete(stream),
      },
      {
        greeted: () => this.told.push('greeted'),
        opened: (stream, request) => {
          const served = new ServedStream(stream, request);
          this.streams.push(served);
          this.onOpened(served);
        },
        failed: (error) => this.told.push(`failed: ${error.message}`),
        left: (isGraceful) => this.told.push(isGraceful ? 'left' : 'broke off'),
        closed: () => this.told.push('closed'),
      },
    );
  }

  /** One that has exchanged settings with its client. */
  static async greeted(
    settings?: Buffer,
    options: Partial<ServerSessionOptions> = {},
  ): Promise<ServedSession> {
    const served = new ServedSession(options);
    await served.gets(PREFACE, rawFrame(SETTINGS, 0, 0, settings), rawFrame(SETTINGS, ACK, 0));
    return served;
  }

  async gets(...bytes: Buffer[]): Promise<void> {
    if (!this.socket.destroyed) this.socket.push(Buffer.concat(bytes));
    await turn();
  }

  /** All that was sent so far. */
  get frames(): RawFrame[] {
    const written = Buffer.concat(this.socket.writes);
    const frames: RawFrame[] = [];
    let at = 0;
    while (at + 9 <= written.length) {
      const end = at + 9 + written.readUIntBE(at, 3);
      frames.push({
        type: written[at + 3] as number,
        flags: written[at + 4] as number,
        streamId: written.readUInt32BE(at + 5),
        payload: written.subarray(at + 9, end),
      });
      at = end;
    }
    return frames;
  }

  framesOf(type: number, streamId?: number): RawFrame[] {
    return this.frames.filter(
      (frame) => frame.type === type && (streamId ?? frame.streamId) === frame.streamId,
    );
  }

  /** All blocks of headers that were sent, read one after the other as a client has to. */
  get headers(): { readonly streamId: number; readonly fields: Record<string, string> }[] {
    const decoder = new HpackDecoder();
    return this.frames
      .filter(({ type }) => type === HEADERS || type === CONTINUATION)
      .map(({ streamId, payload }) => {
        const fields: Record<string, string> = {};
        decoder.decode(payload, (name, value) => {
          fields[name] = value;
        });
        return { streamId, fields };
      });
  }
}

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
