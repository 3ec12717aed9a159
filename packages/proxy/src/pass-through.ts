/**
 * A call that is passed on as it is, streams too: headers, messages, trailers and resets in both directions,
 * each side no faster than the other takes it.
 */
import type {
  ClientHttp2Stream,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
  ServerHttp2Stream,
} from 'node:http2';
import { encodeStatusMessage, GrpcError, type IncomingCall, STATUS, statusOfReset } from '@batchwise/grpc';
import type { Clock } from 'batchwise';
import type { Backend } from './backend.js';

/** Told once, when the call is over for the caller: with its status. */
export type PassedDone = (status: number) => void;

const END_STREAM = 0x1;
const NO_ERROR = 0x0;
const CANCEL = 0x8;
/** The channel names the backend itself. */
const NOT_PASSED = new Set([':authority', ':scheme', 'host']);

export class PassedCall {
  readonly #call: IncomingCall;
  readonly #caller: ServerHttp2Stream;
  readonly #backend: Backend;
  readonly #done: PassedDone;
  readonly #clock: Clock;
  #upstream: ClientHttp2Stream | undefined = undefined;
  #giveUp: () => void = () => {};
  #trailers: OutgoingHttpHeaders | undefined = undefined;
  #wantsTrailers = false;
  #isOver = false;

  constructor(call: IncomingCall, backend: Backend, clock: Clock, done: PassedDone) {
    this.#clock = clock;
    this.#call = call;
    this.#caller = call.stream;
    this.#backend = backend;
    this.#done = done;
  }

  start(): void {
    this.#backend.openCalls += 1;
    this.#call.onGone(() => this.#callerClosed());
    this.#giveUp = this.#backend.channel.openStream(passedHeaders(this.#call.headers), (error, stream) => {
      if (stream !== undefined) this.#link(stream);
      else this.#fail(error ?? new GrpcError(STATUS.UNAVAILABLE, 'no connection'));
    });
  }

  #link(upstream: ClientHttp2Stream): void {
    this.#upstream = upstream;
    if (this.#isOver) {
      upstream.close(CANCEL);
      return;
    }
    upstream.on('response', (headers, flags) => this.#responded(headers, flags));
    upstream.on('trailers', (trailers) => this.#gotTrailers(plain(trailers)));
    const { session } = upstream; // a stream that is closed does not know any more
    upstream.on('close', () =>
      this.#upstreamClosed(session === undefined || session.destroyed || session.closed, upstream.rstCode),
    );
    this.#caller.pipe(upstream);
  }

  #responded(headers: IncomingHttpHeaders, flags: number): void {
    const caller = this.#caller;
    if (this.#isOver || caller.destroyed || caller.headersSent) return;
    if ((flags & END_STREAM) !== 0) {
      caller.respond(plain(headers), { endStream: true });
      this.#over(statusOf(headers));
      this.#refuseTheRest();
      return;
    }
    caller.respond(plain(headers), { waitForTrailers: true });
    caller.on('wantTrailers', () => {
      this.#wantsTrailers = true;
      this.#sendTrailers();
    });
    (this.#upstream as ClientHttp2Stream).pipe(caller);
  }

  #gotTrailers(trailers: OutgoingHttpHeaders): void {
    this.#trailers ??= trailers;
    this.#sendTrailers();
  }

  /** They may be there before all messages are through, or after. */
  #sendTrailers(): void {
    const trailers = this.#trailers;
    if (!this.#wantsTrailers || trailers === undefined || this.#isOver) return;
    this.#over(statusOf(trailers));
    if (!this.#caller.destroyed) this.#caller.sendTrailers(trailers);
    this.#refuseTheRest();
  }

  #upstreamClosed(isLost: boolean, errorCode: number | undefined): void {
    if (this.#isOver || this.#trailers !== undefined) return;
    const status = isLost ? STATUS.UNAVAILABLE : statusOfReset(errorCode ?? NO_ERROR);
    const how = isLost ? 'closed the connection' : `reset the stream (HTTP/2 error code ${errorCode})`;
    this.#fail(new GrpcError(status, `backend ${this.#backend.target} ${how} before the call had ended`));
  }

  /** The backend has ended it without a status, or never began: the caller gets one all the same. */
  #fail(error: GrpcError): void {
    const caller = this.#caller;
    if (!caller.headersSent) {
      this.#over(error.status);
      this.#call.fail(error);
      return;
    }
    this.#trailers = {
      'grpc-status': String(error.status),
      'grpc-message': encodeStatusMessage(error.message),
    };
    if (!caller.writableEnded) caller.end();
    this.#sendTrailers();
  }

  /** What the caller still sends is read by nobody. */
  #refuseTheRest(): void {
    const caller = this.#caller;
    if (caller.readableEnded || caller.destroyed) return;
    caller.unpipe();
    caller.resume();
    // In a turn of its own: a reset would overtake the trailers.
    this.#clock.defer(() => {
      if (!caller.destroyed) caller.close(NO_ERROR);
    });
  }

  #callerClosed(): void {
    this.#giveUp();
    this.#over(STATUS.CANCELLED);
    const upstream = this.#upstream;
    if (upstream !== undefined && !upstream.destroyed && !upstream.closed) upstream.close(CANCEL);
  }

  #over(status: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#backend.openCalls -= 1;
    this.#done(status);
  }
}

function passedHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const passed: OutgoingHttpHeaders = {};
  for (const name in headers) if (!NOT_PASSED.has(name)) passed[name] = headers[name];
  return passed;
}

/** Without what Node attaches to the headers it received. */
function plain(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return { ...(headers as OutgoingHttpHeaders) };
}

function statusOf(headers: IncomingHttpHeaders | OutgoingHttpHeaders): number {
  const status = headers['grpc-status'];
  return status === undefined ? STATUS.UNKNOWN : Number(status);
}
