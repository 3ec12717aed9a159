/**
 * What the runner calls of one request have in common: they end when its client hangs up, and the slowest
 * of them is what its answer tells of. No AbortSignal is made for it: one costs more than a small request.
 */
import type { BatchTrace, Runner, RunnerTicket } from '@batchwise/runners';
import { BatchwiseError, type Clock, type EnqueueOptions } from 'batchwise';
import type { HttpCall } from '../http/http-route.js';
import { type TrustableHeader, withPeerTenant } from '../queue-options.js';
import { RunnerAnswer } from './runner-answer.js';

export class CallScope {
  readonly #call: HttpCall;
  readonly #options: EnqueueOptions | undefined;
  readonly #trustedHeaders: readonly TrustableHeader[] | undefined;
  readonly #clock: Clock;
  /** When the time that the client allows ends. */
  readonly #deadline: number;
  /** Most handlers ask once. */
  #first: RunnerTicket | undefined;
  #others: RunnerTicket[] | undefined;
  #openCount = 0;
  #slowest: BatchTrace | undefined;
  #isAnswered = false;
  #isWatched = false;
  #controller: AbortController | undefined;

  constructor(
    call: HttpCall,
    options: EnqueueOptions | undefined,
    trustedHeaders: readonly TrustableHeader[] | undefined,
    clock: Clock,
  ) {
    this.#call = call;
    this.#options = options;
    this.#trustedHeaders = trustedHeaders;
    this.#clock = clock;
    const { timeoutMs = Number.POSITIVE_INFINITY } = options ?? {};
    this.#deadline = timeoutMs === Number.POSITIVE_INFINITY ? timeoutMs : clock.now() + timeoutMs;
  }

  /** From now on the client is served, and what the handler still does is its own affair. */
  answered(): void {
    this.#isAnswered = true;
  }

  /** Nobody will read what its calls have to say: the client is gone, or was told of a failure. */
  abandon(): void {
    const error = gone();
    this.#controller?.abort(error);
    // A list of its own: cancelling settles, and the last to be settled forgets them all.
    for (const ticket of [this.#first, ...(this.#others ?? [])]) ticket?.cancel(error);
  }

  /** Of the runner call that took longest, of those that have ended. */
  get slowest(): BatchTrace | undefined {
    return this.#slowest;
  }

  get callOptions(): EnqueueOptions {
    return this.#ownOptions() ?? {};
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isGone) this.#controller.abort(gone());
      else this.#watch();
    }
    return this.#controller.signal;
  }

  /** What `request` throws is the caller's error like any other. */
  ask<R>(
    runner: Runner,
    request: () => unknown,
    resultOf: (answer: unknown) => R,
    options: EnqueueOptions | undefined,
  ): Promise<R> {
    const answer = new RunnerAnswer<R>(this, resultOf);
    this.#openCount++;
    try {
      if (this.#isGone) throw gone();
      const fair = withPeerTenant(this.#merged(options), runner, () => this.#call.peer, this.#trustedHeaders);
      const ticket = runner.enqueue(request(), answer, fair);
      if (!answer.isSettled) this.#opened(ticket);
    } catch (error) {
      answer.reject(error);
    }
    return answer.promise;
  }

  /** One of its calls is settled. */
  closed(trace: BatchTrace | undefined): void {
    if (--this.#openCount === 0) {
      this.#first = undefined;
      this.#others = undefined;
    }
    if (trace === undefined) return;
    const before = this.#slowest;
    if (before === undefined || stay(trace) > stay(before)) this.#slowest = trace;
  }

  #opened(ticket: RunnerTicket): void {
    if (this.#first === undefined) this.#first = ticket;
    else if (this.#others === undefined) this.#others = [ticket];
    else this.#others.push(ticket);
    this.#watch();
  }

  #watch(): void {
    if (this.#isWatched || this.#isAnswered) return;
    this.#isWatched = true;
    this.#call.onGone(() => this.abandon());
  }

  /** Answered by somebody else: the client is gone, or the server gave up waiting for the handler. */
  get #isGone(): boolean {
    return this.#call.isSettled && !this.#isAnswered;
  }

  #merged(options: EnqueueOptions | undefined): EnqueueOptions | undefined {
    const own = this.#ownOptions();
    if (options === undefined || own === undefined) return options ?? own;
    return { ...own, ...options };
  }

  /** A handler that calls one runner after the other shares the client's time between them. */
  #ownOptions(): EnqueueOptions | undefined {
    if (this.#deadline === Number.POSITIVE_INFINITY) return this.#options;
    return { ...this.#options, timeoutMs: Math.max(0, this.#deadline - this.#clock.now()) };
  }
}

function stay({ queueMs, computeMs }: BatchTrace): number {
  return queueMs + computeMs;
}

function gone(): BatchwiseError {
  return new BatchwiseError('CANCELLED', 'The connection was closed, or the response was sent.');
}
