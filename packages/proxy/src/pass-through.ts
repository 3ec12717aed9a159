/**
 * A call that is passed on as it is, streams too: headers, messages, trailers and resets in both directions,
 * each side no faster than the other takes it.
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
import type { Backend } from './backend.js';
import { backendFault } from './backend-fault.js';

/** Told once, when the call is over for the caller: with its status. */
export type PassedDone = (status: number) => void;

const { NO_ERROR, REFUSED_STREAM } = ERROR_CODE;
/** The channel names the backend itself. */
const NAMED_ANEW = [':authority', ':scheme', 'host'];

/** What all calls that are passed through share. */
export interface PassHost {
  readonly clock: Clock;
  /** Those of which no message has come for a while, in either direction, are ended. */
  readonly idleLine: ExpiryLine;
  readonly idleMs: number;
  readonly log: (line: string) => void;
}

export class PassedCall implements Expiring {
  expiresAt = 0;
  before: Expiring | undefined = undefined;
  after: Expiring | undefined = undefined;
  readonly #host: PassHost;
  readonly #call: IncomingCall;
  readonly #caller: CallStream;
  readonly #backend: Backend;
  readonly #clock: Clock;
  readonly #dueAt: number;
  readonly #done: PassedDone;
  #upstream: RawStream | undefined = undefined;
  #giveUp: () => void = () => {};
  #trailers: OutgoingHttpHeaders | undefined = undefined;
  #wantsTrailers = false;
  #isCancelled = false;
  #isOver = false;

  constructor(call: IncomingCall, backend: Backend, host: PassHost, done: PassedDone) {
    const { clock } = host;
    this.#call = call;
    this.#caller = call.stream;
    this.#backend = backend;
    this.#host = host;
    this.#clock = clock;
    this.#dueAt = clock.now() + (call.timeoutMs ?? Number.POSITIVE_INFINITY);
    this.#done = done;
  }

  /** Ends it now, whatever is missing; the caller is told why. */
  end(error: GrpcError): void {
    if (this.#isOver) return;
    this.#giveUp();
    this.#fail(error);
    this.#cancelUpstream();
  }

  /** It was idle for too long. Clients begin a call again that is unavailable, as that of a health watch. */
  expire(): void {
    const message = `No message was sent in either direction for ${this.#host.idleMs} ms, the limit of idle streams.`;
    this.end(new GrpcError(STATUS.UNAVAILABLE, message));
  }

  start(): void {
    this.#backend.openCalls += 1;
    this.#host.idleLine.join(this);
    this.#call.onGone(() => this.#callerClosed());
    this.#giveUp = this.#backend.passChannel.openStream(requestOf(this.#call.headers), (error, stream) => {
      if (stream !== undefined) this.#link(stream);
      // It cannot be sent as it is: the message is about the call.
      else if (error !== undefined && error.status !== STATUS.UNAVAILABLE) this.#fail(error);
      else this.#fault(STATUS.UNAVAILABLE, error?.message ?? 'no connection');
    });
  }

  #link(upstream: RawStream): void {
    this.#upstream = upstream;
    if (this.#isOver) {
      upstream.destroy();
      return;
    }
    upstream.on('response', (headers, isAll) => this.#responded(headers, isAll));
    upstream.on('trailers', (trailers) => this.#gotTrailers(ofCall(trailers)));
    upstream.on('close', () => {
      if (this.#isCancelled) return; // whoever did that has said why
      const isLost = upstream.session.destroyed || upstream.session.closed;
      // With its trailers there, what was not read of the answer may still be lost.
      if (this.#trailers === undefined || !upstream.readableEnded)
        this.#upstreamClosed(isLost, upstream.errorCode);
    });
    this.#caller.pipe(upstream);
    this.#caller.on('data', this.#moved);
  }

  #responded(headers: IncomingHttpHeaders, isAll: boolean): void {
    const caller = this.#caller;
    if (this.#isOver || !this.#isThere || caller.headersSent) return;
    const httpStatus = Number(headers[':status'] ?? 200);
    if (httpStatus !== 200 && headers['grpc-status'] === undefined) {
      this.#cancelUpstream();
      this.#fault(statusOfHttp(httpStatus), `it answered with HTTP status ${httpStatus}`);
      return;
    }
    const answer = ofCall(headers);
    try {
      checkSendable(answer);
      caller.respond(answer, { endStream: isAll });
    } catch (error) {
      this.#cancelUpstream();
      this.#fail(this.#unsendable(error));
      return;
    }
    if (isAll) {
      this.#over(statusOf(headers));
      this.#refuseTheRest();
      this.#letGo();
      return;
    }
    caller.on('wantTrailers', () => {
      this.#wantsTrailers = true;
      this.#sendTrailers();
    });
    (this.#upstream as RawStream).pipe(caller);
    (this.#upstream as RawStream).on('data', this.#moved);
  }

  #gotTrailers(trailers: OutgoingHttpHeaders): void {
    this.#trailers ??= trailers;
    // The backend has ended the call: what the caller still sends is read by nobody.
    this.#caller.unpipe();
    this.#caller.resume();
    this.#sendTrailers();
  }

  /** They may be there before all messages are through, or after. */
  #sendTrailers(): void {
    const trailers = this.#trailers;
    if (!this.#wantsTrailers || trailers === undefined || this.#isOver) return;
    if (!this.#isThere) {
      this.#over(statusOf(trailers));
      return;
    }
    try {
      checkSendable(trailers);
      this.#caller.sendTrailers(trailers);
      this.#over(statusOf(trailers));
    } catch (error) {
      const instead = this.#unsendable(error);
      this.#caller.sendTrailers(trailersOf(instead));
      this.#over(instead.status);
    }
    this.#refuseTheRest();
    this.#letGo();
  }

  #upstreamClosed(isLost: boolean, errorCode: number): void {
    if (this.#isOver) return;
    if (errorCode === REFUSED_STREAM && !this.#caller.headersSent) {
      this.#refuse();
      return;
    }
    const isLate = this.#clock.now() >= this.#dueAt;
    const status = isLost ? STATUS.UNAVAILABLE : statusOfReset(errorCode, isLate);
    const reset =
      errorCode === NO_ERROR ? 'ended the stream' : `reset the stream (HTTP/2 error code ${errorCode})`;
    const how = isLost ? 'closed the connection' : reset;
    this.#fault(status, `it ${how} before the call had ended`);
  }

  /** The backend has not begun it. What it was sent is gone here, but clients keep it, and begin such a call again. */
  #refuse(): void {
    this.#over(STATUS.UNAVAILABLE);
    this.#refuseTheRest();
    this.#call.refuse();
  }

  /** What is wrong is for the log; the caller hears that something is. */
  #fault(status: number, reason: string): void {
    this.#host.log(`backend ${this.#backend.target} failed ${this.#call.path}: ${reason}`);
    this.#fail(backendFault(status));
  }

  readonly #moved = (): void => {
    if (this.#isOver) return;
    this.#host.idleLine.leave(this);
    this.#host.idleLine.join(this);
  };

  /** The backend has ended it without a status, or never began: the caller gets one all the same. */
  #fail(error: GrpcError): void {
    const caller = this.#caller;
    // Nobody reads what it still sends; a stream that is being piped, or is not read, would never close.
    caller.unpipe();
    caller.resume();
    if (!caller.headersSent) {
      this.#over(error.status);
      this.#call.fail(error);
      return;
    }
    this.#trailers = trailersOf(error);
    if (!caller.writableEnded) caller.end();
    this.#sendTrailers();
  }

  get #isThere(): boolean {
    return !this.#caller.destroyed;
  }

  #unsendable(cause: unknown): GrpcError {
    this.#host.log(
      `backend ${this.#backend.target} answered ${this.#call.path} with what cannot be passed on: ${(cause as Error).message}`,
    );
    return backendFault(STATUS.INTERNAL, cause);
  }

  /** What the caller still sends is read by nobody. */
  #refuseTheRest(): void {
    const caller = this.#caller;
    if (caller.readableEnded || caller.destroyed) return;
    caller.unpipe();
    caller.resume();
  }

  #callerClosed(): void {
    this.#giveUp();
    this.#over(STATUS.CANCELLED);
    this.#cancelUpstream();
  }

  /** The backend has said everything. A request that it has not read to the end keeps its stream open. */
  #letGo(): void {
    if (this.#upstream?.writableFinished === false) this.#cancelUpstream();
  }

  #cancelUpstream(): void {
    this.#isCancelled = true;
    this.#upstream?.destroy();
  }

  #over(status: number): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#host.idleLine.leave(this);
    this.#backend.openCalls -= 1;
    this.#done(status);
  }
}

function requestOf(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  const request = ofCall(headers);
  for (const name of NAMED_ANEW) delete request[name];
  return request;
}

/** Without what is the connection's, and binary entries of one name apart, as they came. */
function ofCall(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
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
