import type { OutgoingHttpHeaders } from 'node:http2';
import { Duplex } from 'node:stream';
import type { Connection } from './connection.js';
import type { ClientSession } from './http2/client-session.js';
import type { ClientStream } from './http2/client-stream.js';
import { ERROR_CODE } from './http2/error-code.js';
import { withoutBallast } from './without-ballast.js';

/**
 * A stream of a channel as one of Node's, for a call that is passed on as it is: bytes in and out, each side no faster
 * than the other. Emits `response` with the headers and whether they are all that comes, and `trailers` when every byte
 * before them has come. Destroyed before its end, it is cancelled; `close` comes in any case.
 */
export class RawStream extends Duplex {
  readonly session: ClientSession;
  readonly #stream: ClientStream;
  #whenDrained: (() => void) | undefined;
  #hasEnded = false;

  /** Throws when the headers cannot be sent. */
  constructor(connection: Connection, headers: OutgoingHttpHeaders) {
    // What waits does so in the stream, where it is put together: each piece here would take more than it has bytes.
    super({ highWaterMark: 1 });
    this.session = connection.session;
    this.#stream = connection.request(headers, {
      responded: (answer, isAll) => {
        connection.heard();
        this.emit('response', answer, isAll);
      },
      received: (chunk) => {
        connection.heard();
        if (!this.push(withoutBallast(chunk))) this.#stream.pause();
      },
      ended: (trailers) => {
        this.#hasEnded = true;
        if (trailers !== undefined) this.emit('trailers', trailers);
        this.push(null);
      },
      drained: () => this.#drained(),
      closed: () => this.#closed(),
    });
  }

  /** With which it was reset, by whomever; 0 if it was not. */
  get errorCode(): number {
    return this.#stream.errorCode;
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _encoding: string, callback: () => void): void {
    if (this.#stream.write(chunk)) callback();
    else this.#whenDrained = callback;
  }

  override _final(callback: () => void): void {
    if (this.#stream.end()) callback();
    else this.#whenDrained = callback;
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#stream.reset();
    callback(error);
  }

  #drained(): void {
    const callback = this.#whenDrained;
    this.#whenDrained = undefined;
    callback?.();
  }

  #closed(): void {
    if (this.#hasEnded) this.#destroyWhenRead();
    else if (this.errorCode !== ERROR_CODE.NO_ERROR || this.readableLength === 0) this.destroy();
    else {
      // All that came before a reset without an error is read first.
      this.push(null);
      this.#destroyWhenRead();
    }
  }

  #destroyWhenRead(): void {
    if (this.readableEnded) this.destroy();
    else this.once('end', () => this.destroy());
  }
}
