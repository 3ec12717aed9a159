/**
 * One request and its one answer. Whoever answers first has answered: the handler, a limit, or the client
 * by hanging up; all who come later are ignored.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from 'batchwise';
import { type Connection, LINGER_MS } from './connection.js';
import type { HttpCall } from './http-route.js';
import { problemOf } from './problem.js';
import { NO_BODY } from './request-body.js';
import { requestId } from './request-id.js';
import type { Waiting } from './unanswered.js';

/** What a proxy's log would call a request whose client hung up; nobody gets to see it. */
const CLIENT_GONE = 499;
/** What is left of a refused body up to this size is read and dropped, to keep the connection. */
const SMALL_REST_BYTES = 64 * 1024;
const NO_PARAMS: ReadonlyMap<string, string> = new Map();

/** What an exchange needs of its server. */
export interface ExchangeOwner {
  readonly clock: Clock;
  isDraining(): boolean;
  /** How long a client may take nothing of its answer. */
  readonly stallTimeoutMs: number;
  /** Answered, or gone with 499. */
  ended(exchange: HttpExchange, status: number): void;
  fault(message: string, error: unknown, requestId: string): void;
}

export class HttpExchange implements HttpCall, Waiting {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly connection: Connection;
  readonly startedAt: number;
  /** The size that the body is said to have; nothing when it comes in chunks. */
  readonly declaredBytes: number | undefined;
  params = NO_PARAMS;
  body: Buffer = NO_BODY;
  label = '';
  olderOne: this | undefined = undefined;
  newerOne: this | undefined = undefined;
  isSettled = false;
  /** Nobody wants the answer any more. */
  isGone = false;
  /** Part of the body may still be under way. */
  isReceiving: boolean;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #owner: ExchangeOwner;
  readonly #search: string;
  #query: URLSearchParams | undefined;
  #mustClose = false;
  #goneListeners: (() => void)[] | undefined;

  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    connection: Connection,
    owner: ExchangeOwner,
  ) {
    this.#request = request;
    this.#response = response;
    this.connection = connection;
    this.#owner = owner;
    this.startedAt = owner.clock.now();
    this.headers = request.headers;
    this.id = requestId(request.headers['x-request-id']);
    this.method = request.method ?? '';
    const target = originForm(request.url ?? '');
    const queryAt = target.indexOf('?');
    this.path = queryAt === -1 ? target : target.slice(0, queryAt);
    this.#search = queryAt === -1 ? '' : target.slice(queryAt + 1);
    const { 'content-length': length, 'transfer-encoding': transfer } = request.headers;
    this.declaredBytes = transfer !== undefined || length === undefined ? undefined : Number(length);
    this.isReceiving = transfer !== undefined || (length !== undefined && length !== '0');
  }

  /** HTTP/1.1 demands one, HTTP/1.0 does not; of two, nobody knows which one a proxy on the way went by. */
  get hasWrongHost(): boolean {
    const { rawHeaders, httpVersionMinor } = this.#request;
    if (this.headers.host === undefined) return httpVersionMinor > 0;
    let hosts = 0;
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = rawHeaders[i] as string;
      if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
    }
    return hosts > 1;
  }

  /** Its end has not come yet, which is known before the last of it was looked at. */
  get isComing(): boolean {
    return this.isReceiving && !this.#request.complete;
  }

  get query(): URLSearchParams {
    this.#query ??= new URLSearchParams(this.#search);
    return this.#query;
  }

  reply(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    if (this.isSettled) return;
    this.isSettled = true;
    let sent = status;
    try {
      this.#send(status, headers, body);
    } catch (error) {
      // No status, header or body that could be sent. Nothing has been, so there is room for saying so.
      sent = 500;
      this.#sendProblem(error);
    }
    this.#owner.ended(this, sent);
  }

  fail(error: unknown): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#owner.ended(this, this.#sendProblem(error));
  }

  /** Fails it, and the connection with it: the client is not to go on sending. */
  failAndClose(error: unknown): void {
    this.#mustClose = true;
    this.fail(error);
  }

  /** Fails it and tells the handler that its answer is no longer wanted. */
  giveUp(error: unknown): void {
    if (this.isSettled) return;
    this.fail(error);
    this.#tellGone();
  }

  /** The client has hung up. */
  gone(): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#owner.ended(this, CLIENT_GONE);
    this.#tellGone();
  }

  onGone(listener: () => void): void {
    if (this.isGone) {
      this.#tell(listener);
    } else if (!this.isSettled) {
      if (this.#goneListeners === undefined) this.#goneListeners = [listener];
      else this.#goneListeners.push(listener);
    }
  }

  #tellGone(): void {
    this.isGone = true;
    const listeners = this.#goneListeners ?? [];
    this.#goneListeners = undefined;
    for (const listener of listeners) this.#tell(listener);
  }

  #tell(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#owner.fault('A listener for clients that hang up threw', error, this.id);
    }
  }

  #sendProblem(error: unknown): number {
    const problem = problemOf(error, this.id);
    if (problem.isFault) this.#owner.fault(`${this.method} ${this.path} failed`, error, this.id);
    try {
      this.#send(problem.status, problem.headers, problem.body);
      return problem.status;
    } catch (unsendable) {
      // A header of the error cannot be sent; one of a plain error can.
      this.#owner.fault(`${this.method} ${this.path}: its error cannot be sent`, unsendable, this.id);
      const plain = problemOf(unsendable, this.id);
      this.#send(plain.status, plain.headers, plain.body);
      return plain.status;
    }
  }

  #send(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    const response = this.#response;
    const isBodiless = status === 204 || status === 304;
    if (!(status >= 200)) throw new RangeError(`A status from 200 up was expected, got ${status}.`);
    const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    // As a flat list Node writes them without an object for each.
    const list: string[] = ['x-request-id', this.id];
    if (!isBodiless) list.push('content-length', String(length));
    for (const name in headers) {
      if (name.length === 14 && name.toLowerCase() === 'content-length') continue;
      list.push(name, headers[name] as string);
    }
    const closes = this.#closesConnection();
    if (closes) response.shouldKeepAlive = false;
    response.writeHead(status, list);
    if (closes) this.connection.isClosing = true;
    if (closes && this.isReceiving) this.#endLater(body);
    else if (isBodiless || length === 0) response.end();
    else if (typeof body === 'string') this.#sendText(body, length);
    else response.end(body);
    if (this.connection.socket.writableLength > 0) this.#watchStall();
  }

  /**
   * In one piece. `end(body)` gives the socket an empty one besides, and to write two costs more than to write
   * one; and ASCII, as most answers are, need not be encoded.
   */
  #sendText(body: string, length: number): void {
    const response = this.#response;
    const { socket } = response;
    // It has none while answers to requests before it on the same connection are due.
    socket?.cork();
    response.write(body, length === body.length ? 'latin1' : 'utf8');
    socket?.uncork();
    response.end();
  }

  /** A client that does not read its answer must not hold it in memory for ever. */
  #watchStall(): void {
    const { socket } = this.connection;
    socket.setTimeout(this.#owner.stallTimeoutMs);
    // Before Node sets its own time-out for the idle connection.
    this.#response.prependOnceListener('finish', () => socket.setTimeout(0));
  }

  #closesConnection(): boolean {
    const { connection } = this;
    if (this.#mustClose || connection.isRefused) return true;
    // Those who sent a request before hearing of it get their answers: only the newest one's ends the connection.
    if (this.#owner.isDraining() && connection.newest === this) return true;
    if (!this.isReceiving) return false;
    return (
      this.declaredBytes === undefined ||
      this.declaredBytes > SMALL_REST_BYTES ||
      this.headers.expect !== undefined
    );
  }

  /**
   * The client may be in the middle of sending. To close now would reset the connection under the answer,
   * so the answer goes out, what comes is dropped, and the end follows when the client has had time to read.
   */
  #endLater(body: string | Buffer): void {
    const response = this.#response;
    const { clock } = this.#owner;
    const { socket } = this.connection;
    if (body.length > 0) response.write(body);
    else response.flushHeaders();
    const end = () => {
      clock.clearTimer(timer);
      socket.off('close', end);
      this.#request.off('end', end);
      response.end();
    };
    const timer = clock.setTimer(end, LINGER_MS);
    socket.on('close', end);
    this.#request.on('end', end);
    this.#request.resume();
  }
}

/** `GET http://host/path` means the same here as `GET /path`. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const found = /^https?:\/\/[^/?#]*/i.exec(target);
  if (found === null) return target;
  const rest = target.slice(found[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}
