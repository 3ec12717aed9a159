/** A URL over HTTP/1.1: the samples in turn, judged by the success rule. */
import { STATUS_CODES } from 'node:http';
import { BatchFigures } from './batch-headers.js';
import { shortReason } from './error-outcome.js';
import type { HttpRequest, HttpResponse } from './http-connection.js';
import { HttpConnections } from './http-connections.js';
import { type CompiledRule, compileRule } from './success-rule.js';
import type { Outcome, Target } from './target.js';
import type { TargetSpec } from './target-spec.js';

const TOO_MANY_REQUESTS = 429;

export interface EncodedSample {
  readonly body: Buffer | null;
  /** Names and values in turn: those that depend on the sample. */
  readonly headers: readonly string[];
}

export interface HttpTargetOptions {
  readonly spec: TargetSpec;
  /** How the samples are encoded. Called by `prepare()` when a connection could be opened: it may ask the server. */
  readonly encode: (
    spec: TargetSpec,
    connections: HttpConnections,
  ) => Promise<readonly EncodedSample[]> | readonly EncodedSample[];
}

export class HttpTarget implements Target {
  readonly name: string;
  readonly #connections: HttpConnections;
  readonly #options: HttpTargetOptions;
  readonly #rule: CompiledRule;
  #requests: readonly HttpRequest[] = [];

  constructor(options: HttpTargetOptions) {
    const { url, timeoutMs, tls, success } = options.spec;
    const { pathname } = new URL(url);
    this.name = `${methodOf(options.spec)} ${pathname}`;
    this.#options = options;
    this.#rule = compileRule(success);
    this.#connections = new HttpConnections({ origin: url, timeoutMs, tls });
  }

  get connections(): number {
    return this.#connections.open;
  }

  async prepare(): Promise<void> {
    const { spec, encode } = this.#options;
    await this.#connections.check();
    const samples = await encode(spec, this.#connections);
    this.#requests = samples.map((sample) => requestOf(spec, sample, this.#rule.checkBody !== undefined));
  }

  send(number: number, done: (outcome: Outcome) => void): void {
    const request = this.#requests[number % this.#requests.length];
    if (request === undefined) throw new Error('A target is prepared before the first request is sent.');
    this.#connections.send(request, (response) => done(this.#judge(response)));
  }

  close(): Promise<void> {
    return this.#connections.close();
  }

  #judge(response: HttpResponse): Outcome {
    const { failure, status, statusText, bodyBytes: responseBytes } = response;
    if (failure !== undefined) return { kind: 'failed', reason: failure, responseBytes };
    if (!this.#rule.isStatus(status)) {
      const reason = shortReason(`${status} ${statusText || (STATUS_CODES[status] ?? '')}`.trimEnd());
      return { kind: status === TOO_MANY_REQUESTS ? 'rejected' : 'failed', reason, responseBytes };
    }
    const reason = this.#rule.checkBody?.(response.body);
    if (reason !== undefined) return { kind: 'failed', reason, responseBytes };
    const figures = BatchFigures.ofRaw(response.rawHeaders);
    if (figures === undefined) return { kind: 'ok', responseBytes };
    const { batchSize, queueMs, computeMs } = figures;
    return { kind: 'ok', responseBytes, batchSize, queueMs, computeMs };
  }
}

export function methodOf({ method, data, protocol }: TargetSpec): string {
  const isInference = protocol !== undefined && protocol !== 'http';
  return method?.toUpperCase() ?? (isInference || (data?.length ?? 0) > 0 ? 'POST' : 'GET');
}

function requestOf(spec: TargetSpec, sample: EncodedSample, wantsBody: boolean): HttpRequest {
  const { pathname, search } = new URL(spec.url);
  const given = Object.entries(spec.headers ?? {});
  const isGiven = new Set(given.map(([name]) => name.toLowerCase()));
  const headers = given.flat();
  for (let i = 0; i + 1 < sample.headers.length; i += 2) {
    const [name, value] = [sample.headers[i] as string, sample.headers[i + 1] as string];
    if (!isGiven.has(name)) headers.push(name, value);
  }
  return { method: methodOf(spec), path: `${pathname}${search}`, headers, body: sample.body, wantsBody };
}
