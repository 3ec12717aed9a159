/** HTTP calls on persistent connections. The promises resolve with the outcome. */
import { type Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, type AgentOptions as TlsAgentOptions } from 'node:https';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import type { HttpReply } from './http-failure.js';
import {
  abandoned,
  answered,
  connectionLoss,
  deadlineExceeded,
  type Failure,
  MAX_RESPONSE_BYTES,
  type Outcome,
  outage,
} from './outcome.js';
import type { UpstreamTls } from './upstream-tls.js';
import { WatchedAgent, WatchedTlsAgent } from './watched-agent.js';

export interface HttpCallerOptions {
  /** Only the scheme is used: each call has its own URL. */
  readonly url: string;
  readonly tls: UpstreamTls | undefined;
  /** The maximum number of open connections. */
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

/** Errors before the connection was established: nothing has been sent. */
const NOT_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/**
 * Idle connections are closed after this time, earlier than common servers do. A call that is sent while the server
 * closes the connection is lost, and it is unknown whether the server processed it.
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
      // Settled here, because a request without a connection emits no event when it is destroyed.
      const abort = (failure: Failure) => {
        settle(failure);
        request.destroy();
      };
      const onAbort = () => abort(abandoned());
      if (Number.isFinite(timeoutMs))
        timer = this.#clock.setTimer(() => abort(deadlineExceeded(timeoutMs)), timeoutMs);
      signal?.addEventListener('abort', onAbort, { once: true });
      let hasAnswered = false;
      request.once('response', (response) => {
        hasAnswered = true;
        this.#read(response, settle);
      });
      // There may be several errors, also after a response.
      request.on('error', (error: NodeJS.ErrnoException) => {
        if (!hasAnswered) settle(connectionFailure(error));
      });
      request.once('close', () => {
        if (!hasAnswered) settle(connectionFailure(new Error('the connection was closed')));
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
      if (bytes > MAX_RESPONSE_BYTES)
        response.destroy(new Error(`it is larger than ${MAX_RESPONSE_BYTES} bytes`));
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
      settle(unavailable(`the response is incomplete: ${why}.`, failure, false));
    });
  }
}

function connectionFailure(error: NodeJS.ErrnoException): Failure {
  // When several addresses fail, the AggregateError itself has no message.
  const inner = error instanceof AggregateError ? (error.errors[0] as Error | undefined) : undefined;
  return unavailable(`${connectionLoss(error)}.`, inner ?? error, NOT_SENT.has(error.code ?? ''));
}

function unavailable(why: string, cause: Error | undefined, isUnseen: boolean): Failure {
  return outage(new BatchwiseError('UNAVAILABLE', why, { cause }), isUnseen);
}

function tlsOptions({ serverName, ...tls }: UpstreamTls = {}): TlsAgentOptions {
  return serverName === undefined ? tls : { ...tls, servername: serverName };
}

/**
 * The timeout of a call as a header. HTTP has no standard header for it; this one is specific to Batchwise, and other
 * servers ignore it.
 */
export function timeoutHeader(timeoutMs: number): Record<string, string> {
  return Number.isFinite(timeoutMs)
    ? { 'batchwise-timeout-ms': String(Math.max(1, Math.floor(timeoutMs))) }
    : {};
}
