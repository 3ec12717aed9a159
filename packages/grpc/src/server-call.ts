import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { AnswersOnTheWay } from './answers-on-the-way.js';
import type { Expiring, ExpiryLine } from './expiry-line.js';
import type { GrpcError } from './grpc-error.js';
import type { IncomingCall } from './incoming-call.js';
import { checkSendable } from './sendable-headers.js';
import { STATUS } from './status.js';
import { encodeStatusMessage } from './status-message.js';
import { UnaryRequest, type UnfinishedRequests } from './unary-request.js';

/** What the calls of one server share. */
export interface ServerCallHost {
  readonly requests: UnfinishedRequests;
  readonly answers: AnswersOnTheWay;
  closed(call: ServerCall): void;
  /** The answer was not taken in time. */
  untaken(call: ServerCall): void;
}

/** One call on its HTTP/2 stream. An answer is one `respond` and one `end`; everything else is the rare case. */
export class ServerCall implements IncomingCall, Expiring {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly timeoutMs: number | undefined;
  readonly stream: ServerHttp2Stream;
  expiresAt = 0;
  before: Expiring | undefined = undefined;
  after: Expiring | undefined = undefined;

  readonly #host: ServerCallHost;
  #state: 'open' | 'told' | 'gone' = 'open';
  /** The line that the call stands in: at first for its request, then for its answer. */
  #line: ExpiryLine | undefined = undefined;
  #request: UnaryRequest | undefined = undefined;
  #answerBytes = 0;
  #onGone: (() => void) | undefined = undefined;
  #trailers = OK_TRAILERS;

  constructor(
    host: ServerCallHost,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    timeoutMs: number | undefined,
  ) {
    this.#host = host;
    this.stream = stream;
    this.headers = headers;
    this.path = headers[':path'] as string;
    this.timeoutMs = timeoutMs;
    stream.on('close', () => this.#closed());
  }

  readUnary(onFrame: (frame: Buffer) => void): void {
    if (this.#state !== 'open') return;
    const { requests } = this.#host;
    this.#request = new UnaryRequest(this.stream, requests, {
      complete: (frame) => {
        this.#joinLine(undefined);
        if (this.#state === 'open') onFrame(frame);
      },
      broken: (error) => {
        if (this.#state === 'open') this.#failHere(error);
      },
    });
    this.#joinLine(requests.line);
  }

  answer(frame: Buffer, headers?: OutgoingHttpHeaders, trailers?: OutgoingHttpHeaders): void {
    const { stream } = this;
    if (this.#state !== 'open' || stream.destroyed || stream.closed) return;
    this.#state = 'told';
    try {
      if (headers !== undefined) checkSendable(headers);
      if (trailers !== undefined) checkSendable(trailers);
      stream.respond(
        headers === undefined
          ? { ':status': 200, 'content-type': this.#contentType() }
          : { ...headers, ':status': 200, 'content-type': this.#contentType() },
        WITH_TRAILERS,
      );
    } catch (error) {
      this.#cannotBeSent(error);
      return;
    }
    if (trailers !== undefined) this.#trailers = { ...trailers, 'grpc-status': '0' };
    stream.on('wantTrailers', () => this.#sendTrailers());
    stream.end(frame);
    this.#answerBytes = frame.length;
    this.#joinLine(this.#host.answers.line);
    this.#host.answers.add(frame.length);
  }

  fail(error: GrpcError): void {
    if (this.#state !== 'open') return;
    this.#state = 'told';
    this.#respondWith(error);
  }

  onGone(listener: () => void): void {
    if (this.#state === 'gone') listener();
    else this.#onGone = listener;
  }

  /** Ends an open call from this layer, and tells whoever works on it. */
  failHere(error: GrpcError): void {
    if (this.#state === 'open') this.#failHere(error);
  }

  /** The time for the request, or for the answer, is over. */
  expire(): void {
    this.#line = undefined;
    if (this.#state === 'open') {
      this.#failHere(this.#host.requests.lateError);
    } else {
      this.#host.untaken(this);
      this.#release();
      this.stream.close(CANCEL);
    }
  }

  #failHere(error: GrpcError): void {
    this.#release();
    this.#state = 'gone';
    this.#respondWith(error);
    const listener = this.#onGone;
    this.#onGone = undefined;
    listener?.();
  }

  #respondWith(error: GrpcError): void {
    const { stream } = this;
    if (stream.destroyed || stream.closed) return;
    if (stream.headersSent) {
      stream.close(CANCEL);
      return;
    }
    const headers = {
      ...error.trailers,
      ':status': 200,
      'content-type': this.#contentType(),
      'grpc-status': String(error.status),
      'grpc-message': encodeStatusMessage(error.message),
    };
    try {
      if (error.trailers !== undefined) checkSendable(error.trailers);
      stream.respond(headers, AT_ONCE);
      this.#refuseTheRest();
    } catch (cause) {
      this.#cannotBeSent(cause);
    }
  }

  /** Metadata that HTTP/2 cannot carry: the caller is told, not left waiting. */
  #cannotBeSent(error: unknown): void {
    const { stream } = this;
    const text = error instanceof Error ? error.message : String(error);
    if (stream.destroyed || stream.closed) return;
    stream.respond(
      {
        ':status': 200,
        'content-type': 'application/grpc',
        'grpc-status': String(STATUS.INTERNAL),
        'grpc-message': encodeStatusMessage(`the metadata of the answer cannot be sent: ${text}`),
      },
      AT_ONCE,
    );
    this.#refuseTheRest();
  }

  /** What is still to come of the request is not wanted: said so, and not kept. */
  #refuseTheRest(): void {
    if (this.stream.readableEnded) return;
    this.stream.resume();
    this.stream.close(NO_ERROR);
  }

  #sendTrailers(): void {
    try {
      this.stream.sendTrailers(this.#trailers);
    } catch {
      // The message is out already, so a status is all that can still be said; without one the caller would wait.
      this.stream.sendTrailers({
        'grpc-status': String(STATUS.INTERNAL),
        'grpc-message': 'the trailing metadata of the answer cannot be sent',
      });
    }
  }

  #contentType(): string {
    return this.headers['content-type'] ?? 'application/grpc';
  }

  #closed(): void {
    this.#release();
    if (this.#state === 'open') {
      this.#state = 'gone';
      const listener = this.#onGone;
      this.#onGone = undefined;
      listener?.();
    }
    this.#host.closed(this);
  }

  #joinLine(line: ExpiryLine | undefined): void {
    this.#line?.leave(this);
    this.#line = line;
    line?.join(this);
  }

  #release(): void {
    this.#joinLine(undefined);
    this.#request?.drop();
    this.#request = undefined;
    if (this.#answerBytes > 0) this.#host.answers.remove(this.#answerBytes);
    this.#answerBytes = 0;
  }
}

// Without `date`: gRPC has no use for it, and it is a sixth of a small answer's bytes.
const WITH_TRAILERS = { waitForTrailers: true, sendDate: false };
const AT_ONCE = { endStream: true, sendDate: false };
const OK_TRAILERS: OutgoingHttpHeaders = { 'grpc-status': '0' };
const NO_ERROR = 0x0;
const CANCEL = 0x8;
