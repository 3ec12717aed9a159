import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import type { Connection } from './connection.js';
import type { Due } from './deadline-heap.js';
import { FrameReader } from './frame-reader.js';
import { GrpcError } from './grpc-error.js';
import type { ClientStream, StreamListener } from './http2/client-stream.js';
import { ERROR_CODE } from './http2/error-code.js';
import type { CallEnd, CallHandlers, OutgoingCall } from './outgoing-call.js';
import { STATUS, statusOfHttp, statusOfReset } from './status.js';
import { decodeStatusMessage } from './status-message.js';
import { unsendable } from './unsendable.js';
import type { Waiting } from './waiting.js';

/** One call of a channel: waits for a connection, then lives on its stream. Ends exactly once. */
export class ClientCall implements OutgoingCall, Waiting, Due, StreamListener {
  dueAt = Number.POSITIVE_INFINITY;
  readonly #handlers: CallHandlers;
  readonly #reader: FrameReader;
  #headers: OutgoingHttpHeaders | undefined;
  #stream: ClientStream | undefined;
  #connection: Connection | undefined;
  #isOver = false;
  #hasEnded = false;
  #isPaused = false;
  /** Written before there was a stream. */
  #early: Buffer[] = [];
  #earlyBytes = 0;
  #onDrain: (() => void) | undefined;
  #responseHeaders: IncomingHttpHeaders | undefined;

  constructor(headers: OutgoingHttpHeaders, handlers: CallHandlers, maxMessageBytes: number) {
    this.#headers = headers;
    this.#handlers = handlers;
    this.#reader = new FrameReader(
      maxMessageBytes,
      (frame) => {
        if (!this.#isOver) handlers.onFrame(frame);
      },
      handlers.onTooLarge &&
        ((error) => {
          if (!this.#isOver) handlers.onTooLarge?.(error);
        }),
    );
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  write(frame: Buffer): boolean {
    const stream = this.#stream;
    if (this.#isOver || this.#hasEnded) return true;
    if (stream === undefined) {
      this.#early.push(frame);
      this.#earlyBytes += frame.length;
      return this.#earlyBytes < EARLY_BYTES;
    }
    return stream.write(frame);
  }

  end(last?: Buffer): void {
    if (this.#isOver || this.#hasEnded) return;
    const stream = this.#stream;
    if (stream === undefined && last !== undefined) this.#early.push(last);
    this.#hasEnded = true;
    stream?.end(last);
  }

  cancel(): void {
    this.#abort(STATUS.CANCELLED, 'the call was cancelled');
  }

  due(): void {
    this.#abort(STATUS.DEADLINE_EXCEEDED, 'the deadline has passed');
  }

  onDrain(callback: () => void): void {
    this.#onDrain = callback;
  }

  pause(): void {
    this.#isPaused = true;
    this.#stream?.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#stream?.resume();
  }

  begin(connection: Connection): void {
    let stream: ClientStream;
    try {
      stream = connection.request(this.#headers as OutgoingHttpHeaders, this);
    } catch (error) {
      const { status, message } = unsendable(error);
      this.#over({ status, message, isUnseen: true, ...causeOf(error) });
      return;
    }
    this.#connection = connection;
    this.#stream = stream;
    this.#headers = undefined;
    if (this.#isPaused) stream.pause();
    this.#sendEarly(stream);
  }

  refuse(error: GrpcError): void {
    this.#over({ status: error.status, message: error.message, isUnseen: true, ...causeOf(error.cause) });
  }

  #sendEarly(stream: ClientStream): void {
    const early = this.#early;
    const wasFull = this.#earlyBytes >= EARLY_BYTES;
    this.#early = [];
    this.#earlyBytes = 0;
    const last = this.#hasEnded ? early.pop() : undefined;
    let isTaken = true;
    for (const frame of early) isTaken = stream.write(frame);
    if (this.#hasEnded) stream.end(last);
    else if (wasFull && isTaken) this.drained();
  }

  drained(): void {
    // Behind the half-close there is nothing that could still be written.
    if (!this.#isOver && !this.#hasEnded) this.#onDrain?.();
  }

  responded(headers: IncomingHttpHeaders, isAll: boolean): void {
    this.#connection?.heard();
    if (this.#isOver) return;
    this.#responseHeaders = headers;
    // Trailers-only: the one block of headers is the end of the call as well.
    if (headers['grpc-status'] !== undefined) {
      this.#finish(headers);
      if (!isAll) this.#stream?.reset();
      return;
    }
    const httpStatus = Number(headers[':status'] ?? 0);
    const contentType = headers['content-type'];
    if (httpStatus !== 200 || contentType === undefined || !contentType.startsWith('application/grpc')) {
      this.#abort(
        statusOfHttp(httpStatus),
        `expected a gRPC response from ${this.#peer}, got HTTP status ${httpStatus} with content-type ${contentType ?? 'unset'}`,
      );
      return;
    }
    this.#handlers.onHeaders?.(headers);
  }

  received(chunk: Buffer): void {
    if (this.#isOver) return;
    this.#connection?.heard();
    try {
      this.#reader.push(chunk);
    } catch (error) {
      if (!(error instanceof GrpcError)) throw error;
      this.#abort(error.status, error.message);
    }
  }

  ended(trailers: IncomingHttpHeaders | undefined): void {
    if (trailers === undefined) this.#endedWithoutStatus();
    else this.#finish(trailers);
    // A peer that has answered need not read what is still to be sent.
    if (this.#stream?.isAllSent === false) this.#stream.reset();
  }

  closed(): void {
    if (this.#isOver) return;
    const connection = this.#connection as Connection;
    const { errorCode, id } = this.#stream as ClientStream;
    const isUnseen =
      this.#responseHeaders === undefined &&
      (errorCode === ERROR_CODE.REFUSED_STREAM || connection.isBelow(id));
    if (connection.isLost || isUnseen) {
      const error = connection.error;
      this.#over({
        status: STATUS.UNAVAILABLE,
        message: isUnseen
          ? `${this.#peer} did not accept the call`
          : `the connection to ${this.#peer} was lost${error === undefined ? '' : `: ${error.message}`}`,
        isUnseen,
        ...causeOf(error),
      });
    } else if (errorCode === ERROR_CODE.NO_ERROR) this.#endedWithoutStatus();
    else {
      this.#over({
        status: statusOfReset(errorCode, connection.clock.now() >= this.dueAt),
        message: `${this.#peer} reset the stream with HTTP/2 error code ${errorCode}`,
      });
    }
  }

  /** The peer's status is there, and every message before it has been read. */
  #finish(trailers: IncomingHttpHeaders): void {
    const code = Number(trailers['grpc-status']);
    const text = trailers['grpc-message'];
    if (trailers['grpc-status'] === undefined || !Number.isInteger(code)) {
      this.#over({
        status: STATUS.UNKNOWN,
        message: `expected a number as grpc-status from ${this.#peer}, got '${trailers['grpc-status'] ?? ''}'`,
        trailers,
      });
    } else if (code === STATUS.OK && !this.#reader.isBetweenFrames) {
      this.#over({
        status: STATUS.INTERNAL,
        message: `the response of ${this.#peer} ended within a message`,
        trailers,
      });
    } else {
      this.#over({
        status: code,
        message: typeof text === 'string' ? decodeStatusMessage(text) : '',
        trailers,
      });
    }
  }

  #endedWithoutStatus(): void {
    this.#over({ status: STATUS.UNKNOWN, message: `${this.#peer} ended the call without grpc-status` });
  }

  get #peer(): string {
    return this.#connection?.target ?? 'the peer';
  }

  /** Ended from this side. */
  #abort(status: number, message: string): void {
    if (this.#isOver) return;
    this.#over({ status, message, isUnseen: this.#stream === undefined });
    this.#stream?.reset();
  }

  #over(end: { status: number; message: string } & Partial<CallEnd>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#early = [];
    const full: CallEnd = { trailers: {}, isUnseen: false, ...end };
    // Not from within call(), cancel() or write(): whoever called is not entered again.
    queueMicrotask(() => this.#handlers.onEnd(full));
  }
}

const EARLY_BYTES = 64 * 1024;

function causeOf(error: unknown): { cause?: Error } {
  return error instanceof Error ? { cause: error } : {};
}
