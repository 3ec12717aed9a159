/**
 * The peers of a runner as one backend: each batch goes to the one that is expected to be done with it first, those
 * that do not answer are left alone for a while, and what was certainly not begun is sent once more.
 */
import { BatchwiseError, type Clock } from 'batchwise';
import type { Availability } from '../availability.js';
import type { UpstreamSettings } from '../runner-settings.js';
import type { Outcome } from './outcome.js';
import { RetryBudget } from './retry-budget.js';
import { CHECK_TIMEOUT_MS, UpstreamMember } from './upstream-member.js';
import type { UpstreamPeer } from './upstream-peer.js';

export interface UpstreamPoolOptions<P> {
  readonly name: string;
  /** At least one. */
  readonly peers: readonly P[];
  readonly settings: UpstreamSettings;
  readonly clock: Clock;
  /** Told when peers go and come back. */
  readonly log?: ((line: string) => void) | undefined;
}

/** Retries a call. */
const RETRY_SHARE = 0.1;
/** Between two questions whether one that is not ready yet is. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

export class UpstreamPool<P extends UpstreamPeer> implements Availability {
  readonly #name: string;
  readonly #settings: UpstreamSettings;
  readonly #clock: Clock;
  readonly #log: (line: string) => void;
  readonly #members: readonly UpstreamMember<P>[];
  readonly #budget = new RetryBudget(RETRY_SHARE);
  readonly #listeners = new Set<() => void>();
  readonly #away = new Set<UpstreamMember<P>>();
  #turn = 0;
  #isClosed = false;

  constructor({ name, peers, settings, clock, log = () => {} }: UpstreamPoolOptions<P>) {
    this.#name = name;
    this.#settings = settings;
    this.#clock = clock;
    this.#log = log;
    const onChange = () => this.#changed();
    this.#members = peers.map((peer) => new UpstreamMember({ peer, settings, clock, onChange }));
  }

  /** Waits until one of them is ready, and gives it; those that are not by then are tried again meanwhile. */
  async start(): Promise<P> {
    const giveUpAt = this.#clock.now() + this.#settings.startTimeoutMs;
    const search = { isOver: false };
    const ready = new Set<UpstreamMember<P>>();
    const searches = this.#members.map(async (member) => {
      await this.#untilReady(member, giveUpAt, search);
      ready.add(member);
      return member.peer;
    });
    let first: P;
    try {
      first = await Promise.any(searches);
    } catch (error) {
      throw (error as AggregateError).errors[0];
    } finally {
      search.isOver = true;
    }
    for (const member of this.#members) {
      if (!ready.has(member)) member.breaker.trip(new Error(`${member.peer.url} was not ready at the start`));
      member.watch();
    }
    return first;
  }

  get outage(): Error | undefined {
    if (this.#members.some(({ breaker }) => breaker.state !== 'open')) return undefined;
    return this.#unavailable();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Throws what the callers are to be told. */
  async run<T>(
    cost: number,
    signal: AbortSignal | undefined,
    ask: (peer: P) => Promise<Outcome<T>>,
  ): Promise<T> {
    this.#budget.earn();
    let before: UpstreamMember<P> | undefined;
    for (let left = this.#settings.retries; ; left--) {
      const member = this.#choose(cost, before);
      if (member === undefined) throw this.#unavailable();
      const outcome = await member.run(cost, ask);
      if (outcome.kind === 'answered') return outcome.answer;
      const isAgain = outcome.isUnseen && left > 0 && signal?.aborted !== true && !this.#isClosed;
      if (!isAgain || !this.#budget.spend()) throw outcome.error;
      before = member;
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#members.map((member) => member.close()));
  }

  /** Another than `before` where there is one; in turn where nothing speaks for either. */
  #choose(cost: number, before: UpstreamMember<P> | undefined): UpstreamMember<P> | undefined {
    let best: UpstreamMember<P> | undefined;
    let bestMs = Number.POSITIVE_INFINITY;
    for (let i = 0; i < this.#members.length; i++) {
      const member = this.#members[(this.#turn + i) % this.#members.length] as UpstreamMember<P>;
      if (!member.breaker.letsIn) continue;
      // What is not known yet counts as quick, so that it becomes known; calls there count all the same.
      const expectedMs = member === before ? Number.MAX_VALUE : member.expectedMs(cost);
      const isBetter =
        expectedMs < bestMs ||
        (expectedMs === bestMs && best !== undefined && member.runningCalls < best.runningCalls);
      if (best !== undefined && !isBetter) continue;
      best = member;
      bestMs = expectedMs;
    }
    this.#turn += 1;
    return best;
  }

  async #untilReady(
    { peer }: UpstreamMember<P>,
    giveUpAt: number,
    search: { readonly isOver: boolean },
  ): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * pauseMs)) {
      try {
        const leftMs = giveUpAt - this.#clock.now();
        await peer.checkReady?.(Math.max(1, Math.min(CHECK_TIMEOUT_MS, leftMs)));
        return;
      } catch (error) {
        if (this.#isClosed) throw this.#closedError();
        if (search.isOver || this.#clock.now() + pauseMs > giveUpAt)
          throw this.#notReady(peer, error as Error);
      }
      await this.#pause(pauseMs);
    }
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.#clock.setTimer(resolve, ms));
  }

  #changed(): void {
    for (const member of this.#members) {
      const { breaker, peer } = member;
      if (breaker.state === 'open' && !this.#away.has(member)) {
        this.#away.add(member);
        this.#log(
          `${this.#name}: the upstream does not answer and is left alone: ${breaker.lastError?.message}`,
        );
      } else if (breaker.state === 'closed' && this.#away.delete(member)) {
        this.#log(`${this.#name}: the upstream ${peer.url} answers again.`);
      }
    }
    for (const listener of [...this.#listeners]) listener();
  }

  #unavailable(): BatchwiseError {
    if (this.#isClosed) return this.#closedError();
    let retryAfterMs = Number.POSITIVE_INFINITY;
    let cause: Error | undefined;
    for (const { breaker } of this.#members) {
      retryAfterMs = Math.min(retryAfterMs, breaker.retryAfterMs);
      cause ??= breaker.lastError;
    }
    const urls = this.#members.map(({ peer }) => peer.url).join(', ');
    const because = cause === undefined ? '' : ` Lately: ${cause.message}`;
    const message = `${this.#name}: the upstream (${urls}) does not answer.${because}`;
    return new BatchwiseError('UNAVAILABLE', message, { retryAfterMs, cause });
  }

  #notReady({ url }: UpstreamPeer, error: Error): BatchwiseError {
    const { startTimeoutMs } = this.#settings;
    const message = `${this.#name}: the upstream ${url} was not ready within ${startTimeoutMs} ms: ${error.message}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause: error });
  }

  #closedError(): BatchwiseError {
    return new BatchwiseError('CLOSED', `${this.#name}: the upstream is closed.`);
  }
}
