/**
 * The web page of the load generator: a server of its own that starts, changes and stops one run at a time. It listens
 * at a loopback address unless told otherwise; at any other address every figure and every change needs the token.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { LoadError } from '../load-error.js';
import type { LoadReport } from '../report/load-report.js';
import type { LoadRun, RunSpec } from '../run/load-run.js';
import { type PageAnswer, problemAnswer, SECURITY_HEADERS } from './page-answer.js';
import { isLoopbackName, PageGuard } from './page-guard.js';
import { type Downloads, PageRoutes, REPORTS } from './page-routes.js';
import { RunControl } from './run-control.js';

export interface LoadPageOptions {
  /** @default '127.0.0.1' */
  readonly host?: string;
  /**
   * 0 selects a free port.
   * @default 8089
   */
  readonly port?: number;
  /** @default none at a loopback address, a random one at any other */
  readonly token?: string;
  /** Initial values of the start form, and the settings that the form does not have. */
  readonly initial: RunSpec;
  start(spec: RunSpec): Promise<LoadRun>;
  /** @default the reports of this package */
  readonly downloads?: Downloads;
}

export interface LoadPage {
  /** The address to open, with the token if there is one. */
  readonly url: string;
  /** The latest run; undefined before the first, and after a reset. */
  readonly run: LoadRun | undefined;
  /**
   * As the start form does.
   *
   * @throws {LoadError} what `start` throws; INVALID_OPTION while a run is under way
   */
  start(spec?: RunSpec): Promise<LoadRun>;
  /** Stops the run, waits for its end, and closes the server. Resolves to the report of the run, if there was one. */
  close(): Promise<LoadReport | undefined>;
}

const DEFAULT_PORT = 8089;
const TOKEN_BYTES = 24;
/** What a header can carry. */
const TOKEN = /^[\x21-\x7e]{1,1000}$/;
const MOST_BODY_BYTES = 64 * 1024;
/** A request must have come whole by then. */
const REQUEST_TIMEOUT_MS = 10_000;
const MOST_CONNECTIONS = 200;

export async function startLoadPage(options: LoadPageOptions): Promise<LoadPage> {
  const { host = '127.0.0.1', port = DEFAULT_PORT, initial, downloads = REPORTS } = options;
  if (options.token !== undefined && !TOKEN.test(options.token)) {
    throw new LoadError('INVALID_OPTION', 'token: expected visible ASCII characters without spaces.');
  }
  const control = new RunControl(initial, (spec) => options.start(spec));
  const routes = new PageRoutes(control, initial, downloads);
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS, headersTimeout: REQUEST_TIMEOUT_MS });
  server.maxConnections = MOST_CONNECTIONS;
  const { address, port: actualPort, family } = await listening(server, host, port);
  const isLoopback = isLoopbackName(address.replace(/^::ffff:/, ''));
  const token = options.token ?? (isLoopback ? undefined : randomBytes(TOKEN_BYTES).toString('base64url'));
  const guard = new PageGuard(address, token);
  server.on('request', (request, response) => void serve(request, response, guard, routes));

  const isAny = address === '::' || address === '0.0.0.0';
  const shown = isAny ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;
  const query = token === undefined ? '' : `?token=${encodeURIComponent(token)}`;
  return {
    url: `http://${shown}:${actualPort}/${query}`,
    get run() {
      return control.run;
    },
    async start(spec = initial) {
      const obstacle = await control.start(spec);
      if (obstacle !== undefined) throw new LoadError('INVALID_OPTION', obstacle);
      return control.run as LoadRun;
    },
    async close() {
      const report = await control.close();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
      return report;
    },
  };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  guard: PageGuard,
  routes: PageRoutes,
): Promise<void> {
  let answer: PageAnswer;
  try {
    answer = await answerTo(request, guard, routes);
  } catch (error) {
    answer = problemAnswer(500, `The load generator failed: ${(error as Error).message}`);
  }
  // A body that has not been read is not waited for.
  if (!request.complete) response.shouldKeepAlive = false;
  response.writeHead(answer.status, {
    ...SECURITY_HEADERS,
    ...answer.headers,
    'content-length': Buffer.byteLength(answer.body),
  });
  response.end(request.method === 'HEAD' ? undefined : answer.body);
}

async function answerTo(request: IncomingMessage, guard: PageGuard, routes: PageRoutes): Promise<PageAnswer> {
  const { headers } = request;
  const method = request.method === 'HEAD' ? 'GET' : (request.method ?? '');
  // Only its path and query are used: the host is checked by the guard.
  const { pathname: path, searchParams: query } = new URL(`http://localhost${pathOf(request)}`);
  const refusal = guard.refusal({
    method,
    headers,
    queryToken: query.get('token'),
    isPrivate: routes.isPrivate(path),
  });
  if (refusal !== undefined) {
    const challenge: Record<string, string> = refusal.status === 401 ? { 'www-authenticate': 'Bearer' } : {};
    return problemAnswer(refusal.status, refusal.detail, challenge);
  }
  const expected = routes.methodOf(path);
  if (expected === undefined)
    return problemAnswer(404, `There is no route for ${method} ${path.slice(0, 200)}.`);
  if (method !== expected) {
    return problemAnswer(405, `Expected ${expected}, got ${method}.`, { allow: expected });
  }
  if (method === 'GET') return routes.get(path, query);
  const text = await bodyOf(request);
  if (text === undefined) return problemAnswer(413, `Expected at most ${MOST_BODY_BYTES} bytes, got more.`);
  const body = parsedJson(text);
  if (body === undefined) return problemAnswer(400, 'Expected JSON, got an invalid body.');
  return routes.post(path, body.value);
}

/** A target in absolute form has a host in front (RFC 9112, 3.2.2). */
function pathOf({ url = '/' }: IncomingMessage): string {
  const path = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}

/** Undefined where it is too large: the rest of it is discarded, so that the client gets to read why. */
function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= MOST_BODY_BYTES) chunks.push(chunk);
      else resolve(undefined);
    });
    request.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
    request.on('error', reject);
  });
}

function parsedJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

async function listening(server: Server, host: string, port: number): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => reject(listenError(error, host, port));
    server.once('error', failed);
    server.listen({ host, port }, () => {
      server.off('error', failed);
      resolve();
    });
  });
  // A connection that cannot be accepted, for want of a file descriptor say, is no reason to stop.
  server.on('error', () => {});
  return server.address() as AddressInfo;
}

function listenError(error: NodeJS.ErrnoException, host: string, port: number): LoadError {
  const why =
    error.code === 'EADDRINUSE'
      ? 'the port is already in use. Choose another one (0 for any free port).'
      : `${error.message}.`;
  return new LoadError('INVALID_OPTION', `Cannot listen on ${host}:${port} for the load page: ${why}`, {
    cause: error,
  });
}
