/**
 * The monitoring endpoints over HTTP on a separate port: `/metrics` for Prometheus, `/livez`, `/readyz`, and `/healthz` as
 * JSON. The answers have the format of the model server.
 */
import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { hostRule, type MetricsSnapshot, PROMETHEUS_CONTENT_TYPE, prometheusText } from '@batchwise/metrics';
import { type AdminAnswer, adminProblem, problemOfParseError } from './admin-problem.js';

export interface Readiness {
  readonly isReady: boolean;
  /** Short reasons why the proxy is not ready: `draining`. */
  readonly reasons: readonly string[];
}

export interface AdminLimits {
  /** Request line and headers together. @default 16 KiB */
  readonly maxHeaderBytes: number;
  /** Timeout for receiving a complete request. @default 10 s */
  readonly requestTimeoutMs: number;
  /** Timeout of a connection without a request, or without reading an answer. @default 65 s */
  readonly idleTimeoutMs: number;
  /** Further connections are closed at once. @default 1000 */
  readonly maxConnections: number;
}

export interface AdminServerOptions {
  metrics(): MetricsSnapshot;
  readiness(): Readiness;
  readonly limits?: Partial<AdminLimits>;
  log?(line: string): void;
}

export interface AdminAddress {
  readonly host: string;
  readonly port: number;
  readonly url: string;
}

const DEFAULT_LIMITS: AdminLimits = {
  maxHeaderBytes: 16 * 1024,
  requestTimeoutMs: 10_000,
  // Longer than the request interval of Prometheus and load balancers, so that the client closes the connection.
  idleTimeoutMs: 65_000,
  maxConnections: 1000,
};

const NO_STORE = { 'cache-control': 'no-store' };
const TEXT = { 'content-type': 'text/plain; charset=utf-8', ...NO_STORE };
const JSON_TYPE = { 'content-type': 'application/json', ...NO_STORE };
const PROMETHEUS = { 'content-type': PROMETHEUS_CONTENT_TYPE, ...NO_STORE };
const PATHS = ['/metrics', '/livez', '/readyz', '/healthz'];
const SHOWN_PATH_LENGTH = 200;
/** Limit of pipelined requests with unread answers per connection. Monitoring clients do not pipeline. */
const MAX_PIPELINED = 4;
/** Visible ASCII: a request id that is safe to echo. */
const SAFE_ID = /^[\x21-\x7e]{1,128}$/;

export class AdminServer {
  readonly #options: AdminServerOptions;
  readonly #limits: AdminLimits;
  readonly #server: Server;
  #isAllowedHost: ReturnType<typeof hostRule>;
  /** Unread answers by connection. */
  readonly #pipelined = new WeakMap<Socket, number>();

  constructor(options: AdminServerOptions) {
    this.#options = options;
    this.#limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.#server = this.#createServer();
  }

  /** Port 0 selects a free port. */
  async listen(host: string, port: number): Promise<AdminAddress> {
    const server = this.#server;
    await new Promise<void>((resolve, reject) => {
      const failed = (error: NodeJS.ErrnoException) => reject(listenError(error, host, port));
      server.once('error', failed);
      server.listen({ host, port }, () => {
        server.off('error', failed);
        resolve();
      });
    });
    // An accept error, for example without free file descriptors, does not stop the server.
    server.on('error', (error) => this.#options.log?.(`admin: cannot accept a connection: ${error.message}`));
    const { address, port: actualPort, family } = server.address() as AddressInfo;
    this.#isAllowedHost = hostRule(address);
    const isAny = address === '::' || address === '0.0.0.0';
    const shown = isAny ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;
    return { host: address, port: actualPort, url: `http://${shown}:${actualPort}` };
  }

  /** Closes all connections now. No effect if the server does not listen. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  #createServer(): Server {
    const { maxHeaderBytes, requestTimeoutMs, idleTimeoutMs, maxConnections } = this.#limits;
    const server = createServer({
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: requestTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: idleTimeoutMs,
      connectionsCheckingInterval: Math.max(10, Math.min(1000, requestTimeoutMs >> 1)),
    });
    server.timeout = idleTimeoutMs;
    server.maxConnections = maxConnections;
    server.on('request', (request, response) => this.#onRequest(request, response));
    server.on('clientError', (error, socket) => this.#clientError(error, socket as Socket));
    return server;
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    if (!this.#admit(request.socket, response)) return;
    const id = idOf(request);
    let answer: AdminAnswer;
    try {
      answer = this.#answer(request, id);
    } catch (error) {
      this.#options.log?.(`admin: ${request.method} ${shownPath(request)} failed (request ${id}): ${error}`);
      const detail = 'The log of the proxy has the cause, under the id of this request.';
      answer = adminProblem('INTERNAL', detail, id);
    }
    const { status, headers, body } = answer;
    // No route takes a body, so the connection is closed instead of reading it.
    if (hasBody(request)) response.shouldKeepAlive = false;
    response.writeHead(status, {
      'x-request-id': id,
      'content-length': Buffer.byteLength(body),
      ...headers,
    });
    response.end(body);
  }

  /** Closes a connection with too many unread answers. */
  #admit(socket: Socket, response: ServerResponse): boolean {
    const pipelined = this.#pipelined.get(socket) ?? 0;
    if (socket.destroyed || pipelined >= MAX_PIPELINED) {
      socket.destroy();
      return false;
    }
    this.#pipelined.set(socket, pipelined + 1);
    response.once('close', () => this.#pipelined.set(socket, (this.#pipelined.get(socket) ?? 1) - 1));
    return true;
  }

  #answer(request: IncomingMessage, id: string): AdminAnswer {
    if (this.#isAllowedHost?.(request.headers.host) === false) {
      const detail =
        'header host: expected a loopback name such as localhost, because the server listens at a loopback address.';
      return adminProblem('WRONG_HOST', detail, id);
    }
    const path = pathOf(request);
    const shown = `${request.method} ${shownPath(request)}`;
    if (!PATHS.includes(path)) {
      return adminProblem('NOT_FOUND', `${shown}: expected one of the paths ${PATHS.join(', ')}.`, id);
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return adminProblem('METHOD_NOT_ALLOWED', `${shown}: expected GET or HEAD.`, id, {
        allow: 'GET, HEAD',
      });
    }
    switch (path) {
      case '/metrics':
        return { status: 200, headers: PROMETHEUS, body: prometheusText(this.#options.metrics()) };
      case '/livez':
        return { status: 200, headers: TEXT, body: 'alive\n' };
      case '/readyz':
        return this.#readyz(id);
      default:
        return this.#healthz();
    }
  }

  #readyz(id: string): AdminAnswer {
    const { isReady, reasons } = this.#options.readiness();
    if (isReady) return { status: 200, headers: TEXT, body: 'ready\n' };
    const detail = reasons.length > 0 ? `Not ready: ${reasons.join('; ')}.` : 'Not ready.';
    return adminProblem('NOT_READY', detail, id, NO_STORE);
  }

  #healthz(): AdminAnswer {
    const { isReady, reasons } = this.#options.readiness();
    const body = JSON.stringify({ status: isReady ? 'ready' : 'not_ready', reasons });
    return { status: 200, headers: JSON_TYPE, body };
  }

  #clientError(error: NodeJS.ErrnoException, socket: Socket): void {
    const problem = problemOfParseError(error, this.#limits.maxHeaderBytes);
    const isSilent = socket.bytesRead === 0;
    if (problem === undefined || isSilent || !socket.writable) {
      socket.destroy();
      return;
    }
    const id = randomUUID();
    const { status, headers, body } = adminProblem(...problem, id);
    const lines = Object.entries({
      ...headers,
      'x-request-id': id,
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  }
}

/** The request id of the client if it is safe to echo, otherwise a new one. */
function idOf({ headers }: IncomingMessage): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && SAFE_ID.test(given) ? given : randomUUID();
}

/** The path without the query and without a trailing slash. */
function pathOf({ url = '' }: IncomingMessage): string {
  const [path = ''] = url.replace(/^https?:\/\/[^/?#]*/i, '').split('?', 1);
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function shownPath({ url = '' }: IncomingMessage): string {
  return url.length > SHOWN_PATH_LENGTH ? `${url.slice(0, SHOWN_PATH_LENGTH)}…` : url;
}

function hasBody({ headers }: IncomingMessage): boolean {
  const { 'content-length': length, 'transfer-encoding': transfer } = headers;
  return transfer !== undefined || (length !== undefined && length !== '0');
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const why =
    error.code === 'EADDRINUSE'
      ? 'the port is already in use. Stop the other process, or choose another port (0 for any free port).'
      : `${error.message}.`;
  return new Error(`Cannot listen on ${host}:${port} for metrics and health: ${why}`, { cause: error });
}
