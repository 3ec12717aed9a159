/**
 * One request and its one answer. Whoever answers first has answered: the handler, a limit, or the client
 * by hanging up; all who come later are ignored.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from 'batchwise';
import { type ByteBudget, noRoom } from '../byte-budget.js';
import { type Answer, answerHead } from './answer-bytes.js';
import type { Connection } from './connection.js';
import type { HttpCall, HttpRoute } from './http-route.js';
import { problemOf } from './problem.js';
import { type Inflate, NO_BODY } from './request-body.js';
import type { RequestHead } from './request-head.js';
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
  /** What tells a client how long its connection is kept. */
  readonly keepAliveLines: string;
  readonly budget: ByteBudget;
  isDraining(): boolean;
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
  params = NO_PARAMS;
  body: Buffer = NO_BODY;
  /** Of the body, as its connection has counted them. */
  heldBytes = 0;
  label = '';
  route: HttpRoute | undefined = undefined;
  inflater: Inflate | undefined = undefined;
  olderOne: this | undefined = undefined;
  newerOne: this | undefined = undefined;
  isSettled = false;
  /** Nobody wants the answer any more. */
  isGone = false;
  /** Part of the body may still be under way. */
  isReceiving: boolean;
  /** The client waits to be told to send the body, for which others must be answered first. */
  isContinueDue = false;
  /** Until it can be written. */
  answer: Answer | undefined = undefined;
  /** Its answer is the last one on its connection. */
  isLast = false;
  readonly #head: RequestHead;
  readonly #owner: ExchangeOwner;
  readonly #search: string;
  #query: URLSearchParams | undefined = undefined;
  #mustClose = false;
  #goneListeners: (() => void)[] | undefined = undefined;

  constructor(head: RequestHead, connection: Connection, owner: ExchangeOwner) {
    this.#head = head;
    this.connection = connection;
    this.#owner = owner;
    this.startedAt = owner.clock.now();
    this.headers = head.headers;
    this.id = requestId(head.headers['x-request-id']);
    this.method = head.method;
    const target = originForm(head.target);
    const queryAt = target.indexOf('?');
    this.path = queryAt === -1 ? target : target.slice(0, queryAt);
    this.#search = queryAt === -1 ? '' : target.slice(queryAt + 1);
    this.isReceiving = this.hasBody;
  }

  /** The size that the body is said to have; nothing when it comes in chunks. */
  get declaredBytes(): number | undefined {
    return this.#head.bodyBytes;
  }

  get hasBody(): boolean {
    return this.#head.bodyBytes !== 0;
  }

  /** HTTP/1.1 demands one, HTTP/1.0 does not; of two, nobody knows which one a proxy on the way went by. */
  get hasWrongHost(): boolean {
    const { hosts, isHttp10 } = this.#head;
    return hosts > 1 || (hosts === 0 && !isHttp10);
  }

  /** RFC 9112, 3.2.2: that of a whole URL counts instead of the header. */
  get host(): string | undefined {
    return ABSOLUTE.exec(this.#head.target)?.[1] ?? this.headers.host;
  }

  /** The client sends the body only when told to. */
  get expectsContinue(): boolean {
    const { expect } = this.headers;
    return expect !== undefined && !this.#head.isHttp10 && CONTINUE_EXPECTED.test(expect);
  }

  get peer(): string {
    const { remoteAddress, remotePort } = this.connection.socket;
    return `${remoteAddress}:${remotePort}`;
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
      this.#prepare(status, headers, body);
    } catch (error) {
      // No status, header or body that could be sent. Nothing has been, so there is room for saying so.
      sent = this.#prepareProblem(error);
    }
    const { share } = this.connection;
    if (!share.hasRoomFor(this.answer?.bodyBytes ?? 0))
      sent = this.#prepareProblem(noRoom(this.#owner.budget));
    this.#send(sent);
  }

  fail(error: unknown): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#send(this.#prepareProblem(error));
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
      this.#owner.fault('A listener for closed connections threw', error, this.id);
    }
  }

  /** Counted as answered first: with room for another, its connection may read on. */
  #send(status: number): void {
    this.#owner.ended(this, status);
    this.connection.answered(this);
  }

  #prepareProblem(error: unknown): number {
    const problem = problemOf(error, this.id);
    if (problem.isFault) this.#owner.fault(`${this.method} ${this.path} failed`, error, this.id);
    try {
      this.#prepare(problem.status, problem.headers, problem.body);
      return problem.status;
    } catch (unsendable) {
      // A header of the error cannot be sent; one of a plain error can.
      this.#owner.fault(
        `${this.method} ${this.path}: the error response cannot be sent`,
        unsendable,
        this.id,
      );
      const plain = problemOf(unsendable, this.id);
      this.#prepare(plain.status, plain.headers, plain.body);
      return plain.status;
    }
  }

  #prepare(status: number, headers: Readonly<Record<string, string>>, body: string | Buffer): void {
    const bodyBytes = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
    const isBodiless = status === 204 || status === 304;
    const isLast = this.#closesConnection();
    let lines = `x-request-id: ${this.id}\r\n`;
    if (!isBodiless) lines += `content-length: ${bodyBytes}\r\n`;
    lines += isLast ? 'connection: close\r\n' : this.#owner.keepAliveLines;
    const head = answerHead(status, lines, headers);
    const isHeadAll = isBodiless || this.method === 'HEAD';
    this.answer = { head, body, bodyBytes: isHeadAll ? 0 : bodyBytes };
    this.isLast = isLast;
    if (isLast) this.connection.isClosing = true;
  }

  #closesConnection(): boolean {
    const { connection } = this;
    if (this.#mustClose || connection.isRefused || !this.#head.isKeptAlive) return true;
    // Those who sent a request before hearing of it get their answers: only the newest one's ends the connection.
    if (this.#owner.isDraining() && connection.newest === this) return true;
    if (!this.isReceiving) return false;
    return (
      this.declaredBytes === undefined ||
      this.declaredBytes > SMALL_REST_BYTES ||
      this.headers.expect !== undefined
    );
  }
}

const CONTINUE_EXPECTED = /^100-continue$/i;

const ABSOLUTE = /^https?:\/\/([^/?#]*)/i;

/** `GET http://host/path` means the same here as `GET /path`. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target;
  const found = ABSOLUTE.exec(target);
  if (found === null) return target;
  const rest = target.slice(found[0].length);
  return rest.startsWith('/') ? rest : `/${rest}`;
}
