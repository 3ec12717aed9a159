import type { OutgoingHttpHeaders } from 'node:http2';
import { Duplex } from 'node:stream';
import { responseFields, trailerFields } from './http2/header-fields.js';
import type { ServerStream } from './http2/server-stream.js';
import { withoutBallast } from './without-ballast.js';

/**
 * The stream of an incoming call as one of Node's, for who answers in more than one message or passes the call on: bytes in
 * and out, each side no faster than the other. `end` emits `wantTrailers`; the answer ends with `sendTrailers`.
 * Destroyed before that, the call is cancelled; `close` comes in any case.
 */
export class CallStream extends Duplex {
  readonly #stream: ServerStream;
  #whenDrained: (() => void) | undefined = undefined;

  constructor(stream: ServerStream) {
    // What is not read at once waits in the stream, where it is put together, and counted.
    super({ highWaterMark: 1 });
    this.#stream = stream;
  }

  get id(): number {
    return this.#stream.id;
  }

  get headersSent(): boolean {
    return this.#stream.headersSent;
  }

  /** Throws when the headers cannot be sent. With `endStream` they are the whole answer, its status among them. */
  respond(headers: OutgoingHttpHeaders, { endStream = false }: { endStream?: boolean } = {}): void {
    this.#stream.respond(responseFields(headers), endStream);
  }

  /** Behind all that was written. Throws when they cannot be sent. */
  sendTrailers(trailers: OutgoingHttpHeaders): void {
    if (!this.headersSent) throw new Error(TOO_EARLY);
    if (this.#stream.end(undefined, trailerFields(trailers))) this.drained();
  }

  // From here on: for the call

  /** False when that was enough for now. */
  received(chunk: Buffer): boolean {
    return this.destroyed || this.push(withoutBallast(chunk));
  }

  ended(): void {
    if (!this.destroyed) this.push(null);
  }

  drained(): void {
    const callback = this.#whenDrained;
    this.#whenDrained = undefined;
    callback?.();
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: string, callback: (error?: Error) => void): void {
    if (!this.headersSent) callback(new Error(TOO_EARLY));
    else if (this.#stream.write(chunk)) callback();
    else this.#whenDrained = callback;
  }

  override _final(callback: () => void): void {
    this.#whenDrained = callback;
    if (this.#stream.isAllSent || this.#stream.isClosed) this.drained();
    else this.emit('wantTrailers');
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (!this.#stream.isAllSent) this.#stream.reset();
    callback(error);
  }
}

const TOO_EARLY = 'expected respond() before messages and trailers of a response';
