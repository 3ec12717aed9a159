/** Calls over HTTP on connections that are kept, as promises that say how they ended. */
import { Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as TlsAgent } from 'node:https';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { LARGEST_ANSWER_BYTES } from './grpc-caller.js';
import type { HttpReply } from './http-failure.js';
import { answered, cancelled, type Failure, type Outcome, outage, tooLate } from './outcome.js';
import type { UpstreamTls } from './upstream-tls.js';

export interface HttpCallerOptions {
  /** What errors call it. */
  readonly url: string;
  readonly tls: UpstreamTls | undefined;
  /** The most that are open at a time. */
  readonly connections: number;
  readonly clock?: Clock | undefined;
}

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Errors before there was a connection: nothing has been sent. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/**
 * Idle connections are closed after so long: sooner than the usual servers do, because a call that is sent while the
 * other side closes is lost, and nobody knows whether it was begun.
 */
const IDLE_MS = 4000;

export class HttpCaller {
  readonly #url: string;
  readonly #agent: Agent;
  readonly #request: typeof requestHttp;
  readonly #clock: Clock;

  constructor({ url, tls, connections, clock = realClock }: HttpCallerOptions) {
    const keeping = {
      keepAlive: true,
      maxSockets: connections,
      scheduling: 'lifo',
      timeout: IDLE_MS,
    } as const;
    this.#url = url;
    this.#clock = clock;
    this.#agent = url.startsWith('https:') ? new TlsAgent({ ...keeping, ...tls }) : new Agent(keeping);
    this.#request = url.startsWith('https:') ? (requestHttps as typeof requestHttp) : requestHttp;
  }

  send({ method, url, headers = {}, body, timeoutMs, signal }: HttpCall): Promise<Outcome<HttpReply>> {
    if (signal?.aborted) return Promise.resolve(cancelled(this.#url));
    return new Promise((resolve) => {
      const length = body === undefined ? {} : { 'content-length': String(body.length) };
      const request = this.#request(url, { method, headers: { ...headers, ...length }, agent: this.#agent });
      let timer: unknown;
      let isLate = false;
      const onAbort = () => request.destroy();
      const settle = (outcome: Outcome<HttpReply>) => {
        this.#clock.clearTimer(timer);
        signal?.removeEventListener('abort', onAbort);
        if (signal?.aborted) resolve(cancelled(this.#url));
        else resolve(isLate ? tooLate(this.#url, timeoutMs) : outcome);
      };
      if (Number.isFinite(timeoutMs)) {
        timer = this.#clock.setTimer(() => {
          isLate = true;
          request.destroy();
        }, timeoutMs);
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      let hasAnswered = false;
      request.once('response', (response) => {
        hasAnswered = true;
        this.#read(response, settle);
      });
      // More than one may come, and after an answer too.
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (!hasAnswered) settle(this.#broken(error));
      });
      request.once('close', () => {
        if (!hasAnswered) settle(this.#broken(new Error('the connection was closed')));
      });
      request.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  #read(response: IncomingMessage, settle: (outcome: Outcome<HttpReply>) => void): void {
    const chunks: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > LARGEST_ANSWER_BYTES)
        response.destroy(new Error(`more than ${LARGEST_ANSWER_BYTES} bytes came`));
      else chunks.push(chunk);
    });
    let failure: Error | undefined;
    response.on('error', (error) => {
      failure = error;
    });
    response.once('close', () => {
      const { statusCode: status = 0, headers } = response;
      if (response.complete && failure === undefined) {
        const body = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, bytes);
        settle(answered({ status, headers, body }));
        return;
      }
      const why = failure?.message ?? 'the connection was closed';
      settle(this.#lost(`it broke off in the middle of its answer: ${why}`, failure, false));
    });
  }

  #broken(error: NodeJS.ErrnoException): Failure {
    return this.#lost(textOf(error), error, NEVER_SENT.has(error.code ?? ''));
  }

  #lost(why: string, cause: Error | undefined, isUnseen: boolean): Failure {
    return outage(new BatchwiseError('UNAVAILABLE', `${this.#url}: ${why}.`, { cause }), isUnseen);
  }
}

/** Several addresses fail together, and say nothing together. */
function textOf(error: NodeJS.ErrnoException): string {
  const inner = error instanceof AggregateError ? (error.errors[0] as Error | undefined) : undefined;
  return (inner?.message ?? error.message) || (error.code ?? 'the connection is lost');
}
