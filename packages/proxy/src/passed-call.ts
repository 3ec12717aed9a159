/**
 * A call of any kind that is passed through unchanged: headers, messages, trailers and resets in both directions, with
 * backpressure.
 */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import {
  type CallStream,
  checkSendable,
  ERROR_CODE,
  type Expiring,
  type ExpiryLine,
  encodeStatusMessage,
  GrpcError,
  type IncomingCall,
  OF_CONNECTIONS,
  type RawStream,
  STATUS,
  sentAs,
  statusOfHttp,
  statusOfReset,
} from '@batchwise/grpc';
import type { Clock } from 'batchwise';
import type { Backend } from './backends/backend.js';
import { backendError } from './grpc-errors.js';

/** Called once with the status of the call. */
export type PassedDone = (status: number) => void;

const { NO_ERROR, REFUSED_STREAM } = ERROR_CODE;
/** Headers that the channel sets for the backend. */
const SET_BY_CHANNEL = [':authority', ':scheme', 'host'];

/** The context shared by all calls that are passed through. */
export interface PassContext {
  readonly clock: Clock;
  /** Ends calls without a message in either direction for `idleMs`. */
  readonly idleLine: ExpiryLine;
  readonly idleMs: number;
  readonly log: (line: string) => void;
}

export class PassedCall implements Expiring {
  expiresAt = 0;
  before: Expiring | undefined = undefined;
  after: Expiring | undefined = undefined;
  readonly #context: PassContext;
  readonly #call: IncomingCall;
  readonly #caller: CallStream;
  readonly #backend: Backend;
  readonly #clock: Clock;
  readonly #deadline: number;
  readonly #done: PassedDone;
  #upstream: RawStream | undefined = undefined;
  #cancelOpen: () => void = () => {};
  #trailers: OutgoingHttpHeaders | undefined = undefined;
  #wantsTrailers = false;
  #isCancelled = false;
  #isSettled = false;

  constructor(call: IncomingCall, backend: Backend, context: PassContext, done: PassedDone) {
    const { clock } = context;
    this.#call = call;
    this.#caller = call.stream;
    this.#backend = backend;
    this.#context = context;
    this.#clock = clock;
    this.#deadline = clock.now() + (call.timeoutMs ?? Number.POSITIVE_INFINITY);
    this.#done = done;
  }

  /** Fails the call now. */
  end(error: GrpcError): void {
    if (this.#isSettled) return;
    this.#cancelOpen();
    this.#fail(error);
    this.#cancelUpstream();
  }

  /** The idle timeout. UNAVAILABLE makes clients retry, for example a health watch. */
  expire(): void {
    const message = `No message was sent in either direction for ${this.#context.idleMs} ms, the limit of idle streams.`;
    this.end(new GrpcError(STATUS.UNAVAILABLE, message));
  }

  start(): void {
    this.#backend.openCalls += 1;
    this.#context.idleLine.join(this);
    this.#call.onGone(() => this.#callerGone());
    this.#cancelOpen = this.#backend.passChannel.openStream(
      requestOf(this.#call.headers),
      (error, stream) => {
        if (stream !== undefined) this.#link(stream);
        // The call itself is invalid; the message has the reason.
        else if (error !== undefined && error.status !== STATUS.UNAVAILABLE) this.#fail(error);
        else this.#backendFailed(STATUS.UNAVAILABLE, error?.message ?? 'no connection');
      },
    );
  }

  #link(upstream: RawStream): void {
    this.#upstream = upstream;
    if (this.#isSettled) {
      upstream.destroy();
      return;
    }
    upstream.on('response', (headers, isAll) => this.#responded(headers, isAll));
    upstream.on('trailers', (trailers) => this.#gotTrailers(forwardable(trailers)));
    upstream.on('close', () => {
      if (this.#isCancelled) return; // the caller already has its status
      const isLost = upstream.session.destroyed || upstream.session.closed;
      // After the trailers, unread data may still be lost.
      if (this.#trailers === undefined || !upstream.readableEnded)
        this.#upstreamClosed(isLost, upstream.errorCode);
    });
    this.#caller.pipe(upstream);
    this.#caller.on('data', this.#onData);
  }

  #responded(headers: IncomingHttpHeaders, isAll: boolean): void {
    const caller = this.#caller;
    if (this.#isSettled || !this.#isCallerOpen || caller.headersSent) return;
    const httpStatus = Number(headers[':status'] ?? 200);
    if (httpStatus !== 200 && headers['grpc-status'] === undefined) {
      this.#cancelUpstream();
      this.#backendFailed(statusOfHttp(httpStatus), `it answered with HTTP status ${httpStatus}`);
      return;
    }
    const answer = forwardable(headers);
    try {
      checkSendable(answer);
      caller.respond(answer, { endStream: isAll });
    } catch (error) {
      this.#cancelUpstream();
      this.#fail(this.#unsendable(error));
      return;
    }
    if (isAll) {
      this.#settle(statusOf(headers));
      this.#discardRequest();
      this.#releaseUpstream();
      return;
    }
    caller.on('wantTrailers', () => {
      this.#wantsTrailers = true;
      this.#sendTrailers();
    });
    (this.#upstream as RawStream).pipe(caller);
    (this.#upstream as RawStream).on('data', this.#onData);
  }

  #gotTrailers(trailers: OutgoingHttpHeaders): void {
    this.#trailers ??= trailers;
    // The backend has ended the call, so the rest of the request is discarded.
    this.#caller.unpipe();
    this.#caller.resume();
    this.#sendTrailers();
  }

  /** The trailers may arrive before or after the last message was forwarded. */
  #sendTrailers(): void {
    const trailers = this.#trailers;
    if (!this.#wantsTrailers || trailers === undefined || this.#isSettled) return;
    if (!this.#isCallerOpen) {
      this.#settle(statusOf(trailers));
      return;
    }
    try {
      checkSendable(trailers);
      this.#caller.sendTrailers(trailers);
      this.#settle(statusOf(trailers));
    } catch (error) {
      const instead = this.#unsendable(error);
      this.#caller.sendTrailers(trailersOf(instead));
      this.#settle(instead.status);
    }
    this.#discardRequest();
    this.#releaseUpstream();
  }

  #upstreamClosed(isLost: boolean, errorCode: number): void {
    if (this.#isSettled) return;
    if (errorCode === REFUSED_STREAM && !this.#caller.headersSent) {
      this.#refuse();
      return;
    }
    const isPastDeadline = this.#clock.now() >= this.#deadline;
    const status = isLost ? STATUS.UNAVAILABLE : statusOfReset(errorCode, isPastDeadline);
    const reset =
      errorCode === NO_ERROR ? 'ended the stream' : `reset the stream (HTTP/2 error code ${errorCode})`;
    const how = isLost ? 'closed the connection' : reset;
    this.#backendFailed(status, `it ${how} before the call had ended`);
  }

  /** The backend did not start the call. The proxy has no copy of the request, but clients retry a refused stream (RFC 9113, 8.7). */
  #refuse(): void {
    this.#settle(STATUS.UNAVAILABLE);
    this.#discardRequest();
    this.#call.refuse();
  }

  /** Logs the reason; the caller gets only the status. */
  #backendFailed(status: number, reason: string): void {
    this.#context.log(`backend ${this.#backend.target} failed ${this.#call.path}: ${reason}`);
    this.#fail(backendError(status));
  }

  readonly #onData = (): void => {
    if (this.#isSettled) return;
    this.#context.idleLine.leave(this);
    this.#context.idleLine.join(this);
  };

  /** Fails a call that the backend did not start or ended without a status. */
  #fail(error: GrpcError): void {
    const caller = this.#caller;
    // The rest of the request is discarded. A stream that is piped or not read would never close.
    caller.unpipe();
    caller.resume();
    if (!caller.headersSent) {
      this.#settle(error.status);
      this.#call.fail(error);
      return;
    }
    this.#trailers = trailersOf(error);
    if (!caller.writableEnded) caller.end();
    this.#sendTrailers();
  }

  get #isCallerOpen(): boolean {
    return !this.#caller.destroyed;
  }

  #unsendable(cause: unknown): GrpcError {
    this.#context.log(
      `backend ${this.#backend.target} answered ${this.#call.path} with invalid headers: ${(cause as Error).message}`,
    );
    return backendError(STATUS.INTERNAL, cause);
  }

  /** Discards the rest of the request, because the call has ended. */
  #discardRequest(): void {
    const caller = this.#caller;
    if (caller.readableEnded || caller.destroyed) return;
    caller.unpipe();
    caller.resume();
  }

  #callerGone(): void {
    this.#cancelOpen();
    this.#settle(STATUS.CANCELLED);
    this.#cancelUpstream();
  }

  /** The backend has ended the call. An unread request would keep its stream open. */
  #releaseUpstream(): void {
    if (this.#upstream?.writableFinished === false) this.#cancelUpstream();
  }

  #cancelUpstream(): void {
    this.#isCancelled = true;
    this.#upstream?.destroy();
  }

  #settle(status: number): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#context.idleLine.leave(this);
    this.#backend.openCalls -= 1;
    this.#done(status);
  }
}

function requestOf(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const request = forwardable(headers);
  for (const name of SET_BY_CHANNEL) delete request[name];
  return request;
}

/** The headers without connection headers. Binary entries of one name stay separate. */
function forwardable(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const passed: OutgoingHttpHeaders = {};
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !OF_CONNECTIONS.has(name)) passed[name] = sentAs(name, value);
  }
  return passed;
}

function trailersOf({ status, message }: GrpcError): OutgoingHttpHeaders {
  return { 'grpc-status': String(status), 'grpc-message': encodeStatusMessage(message) };
}

function statusOf(headers: IncomingHttpHeaders | OutgoingHttpHeaders): number {
  const status = headers['grpc-status'];
  return status === undefined ? STATUS.UNKNOWN : Number(status);
}
