/** Calls over HTTP on connections that are kept, as promises that say how they ended. */
import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, type AgentOptions as TlsAgentOptions } from 'node:https';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { connectionLoss } from './connection-loss.js';
import type { HttpReply } from './http-failure.js';
import { LARGEST_ANSWER_BYTES } from './largest-answer.js';
import { abandoned, answered, type Failure, type Outcome, outage, tooLate } from './outcome.js';
import type { UpstreamTls } from './upstream-tls.js';
import { WatchedAgent, WatchedTlsAgent } from './watched-agent.js';

export interface HttpCallerOptions {
  /** Of which only the scheme counts: calls say where they go. */
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
    this.#clock = clock;
    this.#agent = url.startsWith('https:')
      ? new WatchedTlsAgent({ ...keeping, ...tlsOptions(tls) })
      : new WatchedAgent(keeping);
    this.#request = url.startsWith('https:') ? (requestHttps as typeof requestHttp) : requestHttp;
  }

  send({ method, url, headers = {}, body, timeoutMs, signal }: HttpCall): Promise<Outcome<HttpReply>> {
    if (signal?.aborted) return Promise.resolve(abandoned());
    return new Promise((resolve) => {
      const length = body === undefined ? {} : { 'content-length': String(body.length) };
      const request = this.#request(url, { method, headers: { ...headers, ...length }, agent: this.#agent });
      let timer: unknown;
      const settle = (outcome: Outcome<HttpReply>) => {
        this.#clock.clearTimer(timer);
        signal?.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      // Told here: as long as it waits for a connection, a request that is destroyed tells nobody.
      const giveUp = (failure: Failure) => {
        settle(failure);
        request.destroy();
      };
      const onAbort = () => giveUp(abandoned());
      if (Number.isFinite(timeoutMs))
        timer = this.#clock.setTimer(() => giveUp(tooLate(timeoutMs)), timeoutMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      let hasAnswered = false;
      request.once('response', (response) => {
        hasAnswered = true;
        this.#read(response, settle);
      });
      // More than one may come, and after an answer too.
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (!hasAnswered) settle(broken(error));
      });
      request.once('close', () => {
        if (!hasAnswered) settle(broken(new Error('the connection was closed')));
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
      settle(lost(`it broke off in the middle of its answer: ${why}.`, failure, false));
    });
  }
}

function broken(error: NodeJS.ErrnoException): Failure {
  // Several addresses fail together, and say nothing together.
  const inner = error instanceof AggregateError ? (error.errors[0] as Error | undefined) : undefined;
  return lost(`${connectionLoss(error)}.`, inner ?? error, NEVER_SENT.has(error.code ?? ''));
}

function lost(why: string, cause: Error | undefined, isUnseen: boolean): Failure {
  return outage(new BatchwiseError('UNAVAILABLE', why, { cause }), isUnseen);
}

function tlsOptions({ serverName, ...tls }: UpstreamTls = {}): TlsAgentOptions {
  return serverName === undefined ? tls : { ...tls, servername: serverName };
}
