import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2';
import type { AnswersOnTheWay } from './answers-on-the-way.js';
import { CallStream } from './call-stream.js';
import type { Expiring, ExpiryLine } from './expiry-line.js';
import type { GrpcError } from './grpc-error.js';
import { ERROR_CODE } from './http2/error-code.js';
import { responseFields, trailerFields } from './http2/header-fields.js';
import type { ServerStream, ServerStreamListener } from './http2/server-stream.js';
import { OK_FIELDS } from './http2/usual-answer.js';
import type { CallerConnection, IncomingCall } from './incoming-call.js';
import { checkSendable } from './sendable-headers.js';
import { STATUS } from './status.js';
import { encodeStatusMessage } from './status-message.js';
import { UnaryRequest, type UnaryRequestListener, type UnfinishedRequests } from './unary-request.js';

/** What the calls of one server share. */
export interface ServerCallHost {
  readonly requests: UnfinishedRequests;
  readonly answers: AnswersOnTheWay;
  closed(call: ServerCall): void;
}

/** The connection of a call, as far as the call knows it. */
export interface CallConnection extends CallerConnection {
  /** Something suggests that the client is dead. */
  probe(): void;
}

/** One call on its HTTP/2 stream. An answer is one piece; everything else is the rare case. */
export class ServerCall implements IncomingCall, Expiring, ServerStreamListener, UnaryRequestListener {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly timeoutMs: number | undefined;
  readonly connection: CallConnection;
  expiresAt = 0;
  before: Expiring | undefined = undefined;
  after: Expiring | undefined = undefined;

  readonly #host: ServerCallHost;
  readonly #stream: ServerStream;
  #state: 'open' | 'told' | 'gone' = 'open';
  /** The line that the call stands in for its request. */
  #line: ExpiryLine | undefined = undefined;
  #request: UnaryRequest | undefined = undefined;
  #onFrame: ((frame: Buffer) => void) | undefined = undefined;
  #callStream: CallStream | undefined = undefined;
  #hasEnded = false;
  #isOver = false;
  #onGone: (() => void) | undefined = undefined;
  #onTaken: (() => void) | undefined = undefined;

  constructor(
    host: ServerCallHost,
    connection: CallConnection,
    stream: ServerStream,
    headers: IncomingHttpHeaders,
    timeoutMs: number | undefined,
  ) {
    this.#host = host;
    this.connection = connection;
    this.#stream = stream;
    this.headers = headers;
    this.path = headers[':path'] as string;
    this.timeoutMs = timeoutMs;
    stream.listen(this);
  }

  get stream(): CallStream {
    this.#callStream ??= this.#makeCallStream();
    return this.#callStream;
  }

  get isClosed(): boolean {
    return this.#isOver;
  }

  get headersSent(): boolean {
    return this.#stream.headersSent;
  }

  readUnary(onFrame: (frame: Buffer) => void): void {
    if (this.#state !== 'open') return;
    const { requests } = this.#host;
    this.#onFrame = onFrame;
    this.#request = new UnaryRequest(requests, this.connection, this);
    this.#joinLine(requests.line);
    this.#stream.resume();
  }

  answer(frame: Buffer, headers?: OutgoingHttpHeaders, trailers?: OutgoingHttpHeaders): void {
    const stream = this.#stream;
    if (this.#state !== 'open' || stream.isClosed) return;
    this.#state = 'told';
    let fields: readonly string[] | undefined;
    let tail: readonly string[] | undefined;
    try {
      fields = this.#answerFields(headers);
      tail = answerTrailers(trailers);
    } catch (error) {
      this.#cannotBeSent(error);
      return;
    }
    if (stream.headersSent) stream.reset();
    else if (!stream.answer(frame, fields, tail)) {
      this.#joinLine(undefined);
      this.#host.answers.add(this, frame.length);
    }
  }

  fail(error: GrpcError, headers?: OutgoingHttpHeaders): void {
    if (this.#state !== 'open') return;
    this.#state = 'told';
    this.#respondWith(error, headers);
  }

  refuse(): void {
    if (this.#state !== 'open') return;
    this.#state = 'told';
    this.#stream.reset(ERROR_CODE.REFUSED_STREAM);
  }

  onGone(listener: () => void): void {
    if (this.#state === 'gone') listener();
    else this.#onGone = listener;
  }

  onTaken(listener: () => void): void {
    if (this.#isOver) listener();
    else this.#onTaken = listener;
  }

  /** Ends an open call from this layer, and tells whoever works on it. */
  failHere(error: GrpcError): void {
    if (this.#state !== 'open') return;
    this.#release();
    this.#state = 'gone';
    this.#respondWith(error);
    this.#tellGone();
  }

  /** The time for the request, or for the answer, is over. */
  expire(): void {
    this.#line = undefined;
    if (this.#state === 'open') {
      this.failHere(this.#host.requests.lateError);
    } else {
      this.connection.probe();
      this.#release();
      this.#stream.reset();
    }
  }

  // What becomes of the request

  complete(frame: Buffer): void {
    this.#joinLine(undefined);
    const onFrame = this.#onFrame;
    this.#onFrame = undefined;
    if (this.#state === 'open') onFrame?.(frame);
  }

  broken(error: GrpcError): void {
    this.failHere(error);
  }

  // What becomes of the stream

  received(chunk: Buffer): void {
    if (this.#request !== undefined) this.#request.received(chunk);
    else if (this.#callStream?.received(chunk) === false) this.#stream.pause();
  }

  ended(): void {
    this.#hasEnded = true;
    this.#request?.ended();
    this.#callStream?.ended();
  }

  drained(): void {
    this.#callStream?.drained();
  }

  answered(): void {
    this.#callStream?.drained();
    this.closed();
  }

  closed(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#release();
    this.#host.closed(this);
    this.#tellTaken();
    if (this.#callStream !== undefined) this.#closeCallStream(this.#callStream);
    else this.#gone();
  }

  #makeCallStream(): CallStream {
    const stream = new CallStream(this.#stream);
    stream.on('error', nothing);
    if (this.#hasEnded) stream.ended();
    if (this.#isOver) stream.destroy();
    return stream;
  }

  /** Not from within a call of its user: whoever has just sent the last trailers has not said yet that all is well. */
  #closeCallStream(stream: CallStream): void {
    stream.destroy();
    if (stream.closed) this.#gone();
    else stream.once('close', () => this.#gone());
  }

  #gone(): void {
    if (this.#state !== 'open') return;
    this.#state = 'gone';
    this.#tellGone();
  }

  #tellGone(): void {
    const listener = this.#onGone;
    this.#onGone = undefined;
    listener?.();
  }

  #tellTaken(): void {
    const listener = this.#onTaken;
    this.#onTaken = undefined;
    listener?.();
  }

  #respondWith(error: GrpcError, headers?: OutgoingHttpHeaders): void {
    const stream = this.#stream;
    if (stream.isClosed) return;
    if (stream.headersSent) {
      stream.reset();
      return;
    }
    try {
      if (error.trailers !== undefined) checkSendable(error.trailers);
      const status = {
        ...error.trailers,
        'grpc-status': String(error.status),
        'grpc-message': encodeStatusMessage(error.message),
      };
      if (isEmpty(headers)) {
        stream.respond(
          responseFields({ ...status, ':status': 200, 'content-type': this.#contentType() }),
          true,
        );
      } else {
        const trailers = trailerFields(status);
        stream.respond(this.#answerFields(headers) ?? OK_FIELDS, false);
        stream.end(undefined, trailers);
      }
    } catch (cause) {
      this.#cannotBeSent(cause);
    }
  }

  /** Metadata that HTTP/2 cannot carry: the caller is told, not left waiting. */
  #cannotBeSent(error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    this.#stream.respond(
      responseFields({
        ':status': 200,
        'content-type': 'application/grpc',
        'grpc-status': String(STATUS.INTERNAL),
        'grpc-message': encodeStatusMessage(`the metadata of the response cannot be sent: ${text}`),
      }),
      true,
    );
  }

  /** Undefined for those that nearly all answers have. */
  #answerFields(headers: OutgoingHttpHeaders | undefined): readonly string[] | undefined {
    const contentType = this.#contentType();
    if (isEmpty(headers)) {
      return contentType === USUAL_CONTENT_TYPE ? undefined : [':status', '200', 'content-type', contentType];
    }
    checkSendable(headers);
    return responseFields({ ...headers, ':status': 200, 'content-type': contentType });
  }

  #contentType(): string {
    return this.headers['content-type'] ?? USUAL_CONTENT_TYPE;
  }

  #joinLine(line: ExpiryLine | undefined): void {
    this.#line?.leave(this);
    this.#line = line;
    line?.join(this);
  }

  #release(): void {
    this.#joinLine(undefined);
    this.#request?.drop();
    this.#host.answers.remove(this);
  }
}

const USUAL_CONTENT_TYPE = 'application/grpc';

function answerTrailers(trailers: OutgoingHttpHeaders | undefined): readonly string[] | undefined {
  if (isEmpty(trailers)) return undefined;
  checkSendable(trailers);
  return trailerFields({ ...trailers, 'grpc-status': '0' });
}

function isEmpty(headers: OutgoingHttpHeaders | undefined): headers is undefined {
  for (const _name in headers) return false;
  return true;
}

function nothing(): void {}
