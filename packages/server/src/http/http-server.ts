/**
 * HTTP/1.1 on plain sockets. Every request that has come in is answered exactly once, whatever its client,
 * its handler or the server's end do in the meantime; what exceeds a limit is told so early and cheaply.
 */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { hostRule } from '@batchwise/metrics';
import { quoted } from '@batchwise/runners';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { ByteBudget, DEFAULT_UNANSWERED_BYTES } from '../byte-budget.js';
import { RequestError } from '../request-error.js';
import { Connection, type ConnectionOwner } from './connection.js';
import { ConnectionSweep } from './connection-sweep.js';
import { Drain } from './drain.js';
import type { HttpExchange } from './http-exchange.js';
import { type HttpLimits, validHttpLimits } from './http-limits.js';
import type { HttpRoute } from './http-route.js';
import { InflateQueue } from './inflate-queue.js';
import { listenError } from './listen-error.js';
import { malformedAnswer } from './malformed-answer.js';
import { inflateBody, inflaterOf, tooLarge } from './request-body.js';
import { RequestTimeout } from './request-timeout.js';
import { type RouteMatch, Router } from './router.js';
import { Unanswered } from './unanswered.js';

/** What metrics want to know. Each call that has started ends once. */
export interface HttpCallHooks {
  started(routeLabel: string): void;
  /** 499: its client hung up. */
  ended(routeLabel: string, status: number, durationMs: number): void;
}

export interface HttpServerOptions {
  readonly routes: readonly HttpRoute[];
  readonly limits?: Partial<HttpLimits>;
  /**
   * Hosts that are answered beside loopback names where the server listens at a loopback address, and where they
   * are given. @default no host is checked
   */
  readonly allowedHosts?: readonly string[];
  /** Shared with what else listens. One of its own unless given. */
  readonly budget?: ByteBudget;
  readonly clock?: Clock;
  readonly onCall?: HttpCallHooks;
  /** Gets what is not told to clients. On stderr unless given. */
  readonly log?: (message: string, error: unknown, requestId: string) => void;
}

export interface HttpAddress {
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

/** The label of what no route was found for. */
export const UNROUTED = 'unrouted';

/** Connections that may wait at a time to be told that there are too many; those beyond are cut off. */
const SPARE_CONNECTIONS = 64;

export class HttpServer {
  readonly #router: Router;
  readonly #limits: HttpLimits;
  readonly #budget: ByteBudget;
  readonly #clock: Clock;
  readonly #hooks: HttpCallHooks | undefined;
  readonly #log: NonNullable<HttpServerOptions['log']>;
  readonly #server: Server;
  readonly #allowedHosts: readonly string[] | undefined;
  readonly #owner: ConnectionOwner;
  readonly #sweep: ConnectionSweep;
  readonly #connections = new Set<Connection>();
  /** Not answered yet, oldest first. */
  readonly #unanswered = new Unanswered<HttpExchange>();
  readonly #timeout: RequestTimeout;
  readonly #inflating = new InflateQueue();
  #refusedConnections = 0;
  #isAllowedHost: ReturnType<typeof hostRule>;
  #drain: Drain | undefined;
  #isClosed = false;

  constructor(options: HttpServerOptions) {
    this.#router = new Router(options.routes);
    this.#limits = validHttpLimits(options.limits ?? {});
    this.#allowedHosts = options.allowedHosts;
    this.#budget = options.budget ?? new ByteBudget(DEFAULT_UNANSWERED_BYTES);
    this.#clock = options.clock ?? realClock;
    this.#hooks = options.onCall;
    this.#log = options.log ?? ((message, error, id) => console.error(`${message} (request ${id}):`, error));
    this.#timeout = new RequestTimeout(this.#unanswered, this.#limits.requestTimeoutMs, this.#clock);
    this.#owner = this.#connectionOwner();
    this.#sweep = new ConnectionSweep(this.#connections, this.#limits, this.#clock);
    this.#server = this.#createServer();
  }

  get isDraining(): boolean {
    return this.#isClosed || this.#drain !== undefined;
  }

  /** Requests that have come in, wholly or in part, and are not answered yet. */
  get inFlight(): number {
    return this.#unanswered.size;
  }

  get openConnections(): number {
    return this.#connections.size;
  }

  /** Port 0 takes any free one. */
  async listen(host: string, port: number): Promise<HttpAddress> {
    const server = this.#server;
    await new Promise<void>((resolve, reject) => {
      const failed = (error: NodeJS.ErrnoException) => reject(listenError(error, host, port));
      server.once('error', failed);
      server.listen({ host, port }, () => {
        server.off('error', failed);
        resolve();
      });
    });
    // One that cannot be accepted, for want of a file descriptor say, is no reason to stop.
    server.on('error', (error) => this.#log('The HTTP server failed to accept a connection', error, '-'));
    const { address, port: actualPort, family } = server.address() as AddressInfo;
    if (this.#allowedHosts !== undefined) this.#isAllowedHost = hostRule(address, this.#allowedHosts);
    const isAny = address === '::' || address === '0.0.0.0';
    const shown = isAny ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;
    return { host: address, port: actualPort, url: `http://${shown}:${actualPort}` };
  }

  /**
   * Stops accepting and resolves when all that was accepted is answered, with 0; or when the time is up, with
   * the number of requests that had to be refused then. Until then new work on connections that are still
   * open is told 503, and each answer closes its connection.
   */
  async drain(timeoutMs: number): Promise<number> {
    if (this.#drain === undefined) {
      this.#server.close();
      this.#drain = new Drain(this.#connections, this.#unanswered, this.#clock, timeoutMs);
    }
    const refused = await this.#drain.done;
    await this.close();
    return refused;
  }

  /** Ends now: requests that are not answered see their connection closed, their handlers that the client is gone. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const { socket } of this.#connections) socket.destroy();
    await closed;
    this.#timeout.stop();
    this.#sweep.stop();
  }

  #createServer(): Server {
    const { maxConnections } = this.#limits;
    // A client that closes its side is dealt with by its connection.
    const server = createServer({ noDelay: true, allowHalfOpen: true }, (socket) => this.#connected(socket));
    if (maxConnections > 0) server.maxConnections = maxConnections + SPARE_CONNECTIONS;
    return server;
  }

  #connectionOwner(): ConnectionOwner {
    const { keepAliveTimeoutMs } = this.#limits;
    const seconds = Math.floor(keepAliveTimeoutMs / 1000);
    const timeout = seconds === 0 ? '' : `keep-alive: timeout=${seconds}\r\n`;
    return {
      clock: this.#clock,
      limits: this.#limits,
      budget: this.#budget,
      keepAliveLines: `connection: keep-alive\r\n${timeout}`,
      isDraining: () => this.isDraining,
      asked: (exchange) => this.#asked(exchange),
      received: (exchange, error, body) => this.#received(exchange, error, body),
      ended: (exchange, status) => this.#ended(exchange, status),
      complaint: (refusal) => {
        this.#hooks?.started(UNROUTED);
        this.#hooks?.ended(UNROUTED, refusal.httpStatus, 0);
        return malformedAnswer(refusal);
      },
      closed: (connection) => {
        this.#connections.delete(connection);
        if (connection.isRefused) this.#refusedConnections -= 1;
        this.#drain?.check();
      },
      fault: this.#log,
    };
  }

  #connected(socket: Socket): void {
    const { maxConnections } = this.#limits;
    const isRefused =
      maxConnections > 0 && this.#connections.size - this.#refusedConnections >= maxConnections;
    if (isRefused) this.#refusedConnections += 1;
    this.#connections.add(new Connection(socket, isRefused, this.#owner));
    this.#sweep.watch();
  }

  #asked(exchange: HttpExchange): void {
    this.#unanswered.add(exchange);
    const found = this.#route(exchange);
    if (found instanceof RequestError) {
      exchange.label = UNROUTED;
      this.#hooks?.started(UNROUTED);
      exchange.fail(found);
      return;
    }
    const { route, params } = found;
    exchange.params = params;
    exchange.label = route.label ?? route.path;
    this.#hooks?.started(exchange.label);
    this.#timeout.watch();
    if (exchange.hasWrongHost) {
      const got = exchange.headers.host === undefined ? 'none' : 'several';
      exchange.failAndClose(
        new RequestError('BAD_REQUEST', `expected one Host header, as HTTP/1.1 requires; got ${got}.`, {
          where: 'host',
        }),
      );
      return;
    }
    const { host } = exchange;
    if (this.#isAllowedHost?.(host) === false) {
      const expected = 'expected a loopback name such as localhost, or one of server.allowed_hosts';
      exchange.failAndClose(
        new RequestError('WRONG_HOST', `${expected}, got ${quoted(host ?? '')}.`, { where: 'header host' }),
      );
      return;
    }
    try {
      this.#admit(exchange, route);
      exchange.route = route;
      if (exchange.hasBody) exchange.inflater = inflaterOf(exchange.headers['content-encoding']);
      if (exchange.isReceiving && exchange.expectsContinue) exchange.connection.sendContinue(exchange);
    } catch (error) {
      this.#refuse(exchange, error);
    }
  }

  #route(exchange: HttpExchange): RouteMatch | RequestError {
    try {
      return this.#router.find(exchange.method, exchange.path);
    } catch (error) {
      if (error instanceof RequestError) return error;
      throw error;
    }
  }

  /** Throws what refuses a request before its body is looked at. */
  #admit(exchange: HttpExchange, route: HttpRoute): void {
    const { maxConnections, maxInFlight, maxBodyBytes } = this.#limits;
    // Who watches the server's health is to hear that it is alive, not that it is busy.
    if (exchange.connection.isRefused && route.isWork !== false) {
      throw new BatchwiseError('UNAVAILABLE', `Too many connections (limit ${maxConnections}).`);
    }
    if (route.isWork !== false) {
      if (this.isDraining) {
        throw new RequestError('DRAINING', 'The server is shutting down and accepts no more requests.');
      }
      if (maxInFlight > 0 && this.#unanswered.size > maxInFlight) {
        throw new BatchwiseError('UNAVAILABLE', `Too many requests in flight (limit ${maxInFlight}).`);
      }
    }
    if (exchange.declaredBytes !== undefined && exchange.declaredBytes > maxBodyBytes) {
      throw tooLarge(maxBodyBytes);
    }
  }

  #received(exchange: HttpExchange, error: RequestError | undefined, body: Buffer): void {
    const { inflater } = exchange;
    if (error !== undefined || inflater === undefined) {
      this.#take(exchange, error, body);
      return;
    }
    this.#inflating.add({
      isWanted: () => !exchange.isSettled,
      start: (ended) =>
        inflateBody(inflater, body, this.#limits.maxBodyBytes, (unfit, inflated) => {
          ended();
          if (exchange.isSettled) return;
          // In the place of the compressed one.
          this.#take(exchange, unfit ?? exchange.connection.hold(exchange, inflated.length), inflated);
        }),
    });
  }

  #take(exchange: HttpExchange, error: RequestError | undefined, body: Buffer): void {
    if (exchange.isSettled) return;
    if (error !== undefined) {
      this.#refuse(exchange, error);
      return;
    }
    exchange.body = body;
    this.#handle(exchange, exchange.route as HttpRoute);
  }

  #handle(exchange: HttpExchange, route: HttpRoute): void {
    try {
      const answering: unknown = route.handle(exchange);
      if (answering === undefined) return;
      Promise.resolve(answering).catch((error: unknown) => this.#threw(exchange, error));
    } catch (error) {
      this.#threw(exchange, error);
    }
  }

  #threw(exchange: HttpExchange, error: unknown): void {
    if (!exchange.isSettled) exchange.fail(error);
    else if (!exchange.isGone) this.#log(`${exchange.label} threw after its response`, error, exchange.id);
  }

  #refuse(exchange: HttpExchange, error: unknown): void {
    const isTooLarge = error instanceof RequestError && error.code === 'TOO_LARGE';
    // One that has come wholly is in nobody's way, and requests may have followed it.
    if (isTooLarge && exchange.isReceiving) exchange.failAndClose(error);
    else exchange.fail(error);
  }

  #ended(exchange: HttpExchange, status: number): void {
    this.#unanswered.delete(exchange);
    exchange.connection.hold(exchange, 0);
    this.#hooks?.ended(exchange.label, status, this.#clock.now() - exchange.startedAt);
    this.#drain?.check();
  }
}
