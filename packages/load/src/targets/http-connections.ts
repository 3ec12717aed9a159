/**
 * Requests over HTTP/1.1 on connections that are kept alive: one undici client for each connection, one request at a
 * time on it, as browsers and load generators have it.
 *
 * Not undici's `Pool`: its search for an idle client is linear, which is most of the cost with thousands of connections.
 * The connection that was used last is used next, so that connections beyond the need fall idle and close.
 */
import { type Clock, realClock } from 'batchwise';
import { type ConnectionOwner, HttpConnection, type HttpDone, type HttpRequest } from './http-connection.js';
import { HttpConnector, type TlsSpec } from './http-connector.js';
import { expiredReason, type Limited, TimeLimit } from './time-limit.js';

export interface HttpConnectionsOptions {
  /** Scheme, host and port; a path is ignored. */
  readonly origin: string | URL;
  readonly tls?: TlsSpec | undefined;
  /** From `send` to the end of the response. @default no limit */
  readonly timeoutMs?: number | undefined;
  /** Requests beyond it wait for a connection. @default no limit */
  readonly maxConnections?: number | undefined;
  readonly clock?: Clock;
}

export class HttpConnections implements ConnectionOwner {
  readonly #origin: URL;
  readonly #connector: HttpConnector;
  readonly #limit: TimeLimit | undefined;
  readonly #limitReason: string;
  readonly #maxConnections: number;
  readonly #idle: HttpConnection[] = [];
  readonly #all = new Set<HttpConnection>();
  /** Discarded, and not closed yet. */
  readonly #closing = new Set<Promise<void>>();
  readonly #waiting = new Set<WaitingRequest>();
  #open = 0;
  #isClosed = false;

  constructor({
    origin,
    tls,
    timeoutMs,
    maxConnections = Number.POSITIVE_INFINITY,
    clock = realClock,
  }: HttpConnectionsOptions) {
    this.#origin = new URL(new URL(origin).origin);
    this.#connector = new HttpConnector(this.#origin, tls);
    this.#limit = timeoutMs === undefined ? undefined : new TimeLimit(clock, timeoutMs);
    this.#limitReason = expiredReason(timeoutMs ?? 0);
    this.#maxConnections = maxConnections;
  }

  /** How many are open. */
  get open(): number {
    return this.#open;
  }

  /** @throws {LoadError} UNREACHABLE */
  check(): Promise<void> {
    return this.#connector.check();
  }

  /**
   * `done` is called exactly once, after `send` has returned. Its response is valid during that call only: the
   * connection uses the object again.
   */
  send(request: HttpRequest, done: HttpDone): void {
    if (this.#isClosed) {
      setImmediate(() => done(failedResponse('stopped')));
      return;
    }
    const connection = this.#waiting.size > 0 ? undefined : (this.#idle.pop() ?? this.#newConnection());
    if (connection === undefined) {
      const waiting = new WaitingRequest(request, done, this);
      this.#waiting.add(waiting);
      this.#limit?.start(waiting);
      return;
    }
    this.#limit?.start(connection);
    connection.send(request, done);
  }

  /** Requests in flight fail as `stopped`. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#limit?.clear();
    for (const waiting of [...this.#waiting]) this.#fail(waiting, 'stopped');
    const closing = Array.from(this.#all, (connection) => connection.close());
    await Promise.all([...closing, ...this.#closing]);
    this.#all.clear();
  }

  #newConnection(): HttpConnection | undefined {
    if (this.#all.size >= this.#maxConnections) return undefined;
    const connection = new HttpConnection(this.#origin, this.#connector.open, this);
    this.#all.add(connection);
    return connection;
  }

  readonly opened = (): void => {
    this.#open++;
  };

  readonly disconnected = (): void => {
    this.#open--;
  };

  release(connection: HttpConnection): void {
    this.#limit?.end(connection);
    this.#idle.push(connection);
  }

  discard(connection: HttpConnection): void {
    this.#limit?.end(connection);
    this.#all.delete(connection);
    const closing = connection.close().finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }

  told(): void {
    if (this.#waiting.size > 0 && !this.#isClosed) this.#sendWaiting();
  }

  expired(one: HttpConnection | WaitingRequest): void {
    if (one instanceof WaitingRequest) this.#fail(one, this.#limitReason);
    else one.fail(this.#limitReason);
  }

  #sendWaiting(): void {
    for (const waiting of this.#waiting) {
      const connection = this.#idle.pop() ?? this.#newConnection();
      if (connection === undefined) return;
      this.#waiting.delete(waiting);
      this.#limit?.replace(waiting, connection);
      connection.send(waiting.request, waiting.done);
    }
  }

  #fail(waiting: WaitingRequest, reason: string): void {
    this.#waiting.delete(waiting);
    waiting.done(failedResponse(reason));
  }
}

/** A request for which there is no connection yet. */
class WaitingRequest implements Limited {
  expiresAt = 0;
  earlier: Limited | undefined;
  later: Limited | undefined;
  readonly #owner: HttpConnections;

  constructor(
    readonly request: HttpRequest,
    readonly done: HttpDone,
    owner: HttpConnections,
  ) {
    this.#owner = owner;
  }

  expire(): void {
    this.#owner.expired(this);
  }
}

function failedResponse(failure: string): Parameters<HttpDone>[0] {
  return { failure, status: 0, statusText: '', rawHeaders: [], bodyBytes: 0, body: Buffer.alloc(0) };
}
