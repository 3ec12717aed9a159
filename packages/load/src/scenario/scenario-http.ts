/** Requests of a scenario over HTTP: connections for each host, and what their responses count as. */
import { STATUS_CODES } from 'node:http';
import { didYouMean } from 'batchwise';
import { BatchFigures } from '../targets/batch-headers.js';
import { shortReason } from '../targets/error-outcome.js';
import type { HttpRequest, HttpResponse } from '../targets/http-connection.js';
import { HttpConnections, type HttpConnectionsOptions } from '../targets/http-connections.js';
import type { Outcome } from '../targets/target.js';
import type { LoadResponse, RequestOptions } from './load-user.js';

const TOO_MANY_REQUESTS = 429;
const OPTIONS = ['name', 'headers', 'query', 'json', 'body', 'timeoutMs', 'check'];

export interface ScenarioHttpOptions {
  readonly host: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly tls: HttpConnectionsOptions['tls'];
}

/** A request that is ready to be sent. */
export interface ReadyRequest {
  readonly name: string;
  send(done: (outcome: Outcome, response: LoadResponse) => void): void;
}

export class ScenarioHttp {
  readonly #options: ScenarioHttpOptions;
  /** By origin and time limit. */
  readonly #connections = new Map<string, HttpConnections>();

  constructor(options: ScenarioHttpOptions) {
    this.#options = options;
  }

  get open(): number {
    let open = 0;
    for (const connections of this.#connections.values()) open += connections.open;
    return open;
  }

  /** @throws {LoadError} UNREACHABLE */
  async check(): Promise<void> {
    const { host, timeoutMs } = this.#options;
    if (host !== undefined) await this.#connectionsTo(new URL(host), timeoutMs).check();
  }

  /** @throws {Error} what is wrong with the request */
  request(method: string, url: string, options: RequestOptions): ReadyRequest {
    for (const key of Object.keys(options)) {
      if (!OPTIONS.includes(key)) {
        throw new TypeError(`request: unknown option ${key}.${didYouMean(key, OPTIONS)}`);
      }
    }
    const target = this.#resolve(url);
    for (const [key, value] of Object.entries(options.query ?? {})) {
      target.searchParams.append(key, String(value));
    }
    const upper = method.toUpperCase();
    const request = requestOf(upper, target, options);
    const connections = this.#connectionsTo(target, options.timeoutMs ?? this.#options.timeoutMs);
    return {
      name: options.name ?? `${upper} ${target.pathname}`,
      send: (done) =>
        connections.send(request, (response) => {
          const { outcome, loaded } = judged(response, options.check);
          done(outcome, loaded);
        }),
    };
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#connections.values(), (connections) => connections.close()));
  }

  #resolve(url: string): URL {
    const { host } = this.#options;
    if (host === undefined && !URL.canParse(url)) {
      throw new TypeError(`request: ${JSON.stringify(url)} is a path, and the scenario has no host.`);
    }
    const resolved = new URL(url, host);
    if (/^https?:$/.test(resolved.protocol)) return resolved;
    throw new TypeError(`request: expected a path or an http:// URL, got ${JSON.stringify(url)}.`);
  }

  #connectionsTo({ origin, protocol }: URL, timeoutMs: number | undefined): HttpConnections {
    const key = `${origin} ${timeoutMs}`;
    let connections = this.#connections.get(key);
    if (connections === undefined) {
      const tls = protocol === 'https:' ? this.#options.tls : undefined;
      connections = new HttpConnections({ origin, tls, timeoutMs });
      this.#connections.set(key, connections);
    }
    return connections;
  }
}

function requestOf(method: string, { pathname, search }: URL, options: RequestOptions): HttpRequest {
  const { headers = {}, json, body } = options;
  if (json !== undefined && body !== undefined) {
    throw new TypeError('request: expected either json or body, got both.');
  }
  const names = Object.entries(headers).flat();
  if (json !== undefined && !Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')) {
    names.push('content-type', 'application/json');
  }
  const content = json === undefined ? body : JSON.stringify(json);
  return {
    method,
    path: `${pathname}${search}`,
    headers: names,
    body: content === undefined ? null : Buffer.from(content as string),
    wantsBody: true,
  };
}

function judged(
  response: HttpResponse,
  check: RequestOptions['check'],
): { readonly outcome: Outcome; readonly loaded: LoadResponse } {
  const { status, statusText, failure, bodyBytes: responseBytes } = response;
  const loaded = new Response(response);
  if (failure !== undefined) {
    loaded.reason = failure;
    return { loaded, outcome: { kind: 'failed', reason: failure, responseBytes } };
  }
  const isSuccess = status >= 200 && status < 300;
  loaded.ok = isSuccess;
  const verdict = checked(check, loaded);
  loaded.ok = verdict === undefined ? isSuccess : verdict === true;
  if (loaded.ok) {
    const { batchSize, queueMs, computeMs } = BatchFigures.ofRaw(response.rawHeaders) ?? {};
    return { loaded, outcome: { kind: 'ok', responseBytes, batchSize, queueMs, computeMs } };
  }
  const statusReason = shortReason(`${status} ${statusText || (STATUS_CODES[status] ?? '')}`.trimEnd());
  loaded.reason = typeof verdict === 'string' ? verdict : isSuccess ? 'check failed' : statusReason;
  const kind = status === TOO_MANY_REQUESTS && typeof verdict !== 'string' ? 'rejected' : 'failed';
  return { loaded, outcome: { kind, reason: loaded.reason, responseBytes } };
}

/** True and undefined: as the check says. A text: why not; false without a reason. */
function checked(check: RequestOptions['check'], response: LoadResponse): boolean | string | undefined {
  if (check === undefined) return undefined;
  try {
    const verdict = check(response);
    return typeof verdict === 'string' ? shortReason(verdict) : (verdict ?? undefined);
  } catch (error) {
    return shortReason(`check: ${error instanceof Error ? error.message : String(error)}`);
  }
}

class Response implements LoadResponse {
  readonly status: number;
  ok = false;
  reason: string | undefined;
  readonly bytes: Uint8Array;
  readonly #rawHeaders: readonly Buffer[];
  #headers: Readonly<Record<string, string>> | undefined;

  constructor({ status, rawHeaders, body }: HttpResponse) {
    this.status = status;
    this.bytes = body;
    this.#rawHeaders = rawHeaders;
  }

  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= headersOf(this.#rawHeaders);
    return this.#headers;
  }

  text(): string {
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength).toString();
  }

  json(): unknown {
    return JSON.parse(this.text());
  }
}

function headersOf(raw: readonly Buffer[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as Buffer).toString('latin1').toLowerCase();
    const value = (raw[i + 1] as Buffer).toString('latin1');
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`;
  }
  return headers;
}
