/** A peer with what is known of it: whether it answers, how quick it is, what runs there now. */
import { BackendLoad, type Clock, type Loaded, type RunningWork } from 'batchwise';
import type { UpstreamSettings } from '../runner-settings.js';
import { CircuitBreaker } from './circuit-breaker.js';
import type { Outcome } from './outcome.js';
import { Patience } from './patience.js';
import type { UpstreamPeer } from './upstream-peer.js';

export interface UpstreamMemberOptions<P> {
  readonly peer: P;
  readonly settings: UpstreamSettings;
  readonly clock: Clock;
  readonly onChange: () => void;
}

/** How long the question whether it is ready may take. */
export const CHECK_TIMEOUT_MS = 5000;

export class UpstreamMember<P extends UpstreamPeer> implements Loaded {
  readonly peer: P;
  readonly breaker: CircuitBreaker;
  /** It has been asked whether it is ready for the first time, and has not answered yet: it gets nothing till then. */
  isAwaited = false;
  readonly #clock: Clock;
  readonly #healthIntervalMs: number;
  readonly #load = new BackendLoad();
  readonly #patience = new Patience();
  #healthTimer: unknown;
  /** When a call last began or ended: who is being called need not be asked how it is. */
  #usedAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor({ peer, settings, clock, onChange }: UpstreamMemberOptions<P>) {
    const { maxFailures, cooldownMs, healthIntervalMs } = settings;
    this.peer = peer;
    this.#clock = clock;
    this.#healthIntervalMs = healthIntervalMs;
    const probe = peer.checkReady === undefined ? undefined : () => this.#check();
    this.breaker = new CircuitBreaker({ clock, maxFailures, cooldownMs, probe, onChange });
  }

  /** From here on it is watched: it was ready, or has been waited for in vain. */
  watch(): void {
    if (this.#isClosed) return;
    this.peer.onConnectionChange?.((error) => {
      if (error === undefined) this.breaker.lookNow();
      else this.breaker.trip(error);
    });
    this.#scheduleHealth();
  }

  get isAway(): boolean {
    return this.isAwaited || this.breaker.state === 'open';
  }

  get letsIn(): boolean {
    return !this.isAwaited && this.breaker.letsIn;
  }

  get running(): ReadonlySet<RunningWork> {
    return this.#load.running;
  }

  predictedWaitMs(cost: number, now: number): number {
    return this.#load.predictedWaitMs(cost, now);
  }

  async run<T>(cost: number, ask: (peer: P) => Promise<Outcome<T>>): Promise<Outcome<T>> {
    const startedAt = this.#clock.now();
    const work = this.#load.begin(cost, startedAt);
    const awaited = this.#patience.begin(cost, startedAt);
    const letIn = this.breaker.begin();
    try {
      const outcome = await ask(this.peer);
      const now = this.#clock.now();
      const { curve } = this.#load;
      if (outcome.kind === 'answered') {
        curve.record(cost, now - startedAt, now);
        this.#patience.answered(awaited, now);
        this.breaker.succeed(letIn);
      } else if (outcome.isOutage) this.breaker.fail(letIn, outcome.error);
      else if (outcome.isAbandoned) {
        curve.recordAtLeast(cost, now - startedAt, now);
        if (this.#patience.isOverdue(awaited, now))
          this.breaker.fail(letIn, new Error(`no answer came in ${Math.round(now - startedAt)} ms`));
        else this.breaker.forget(letIn);
      } else this.breaker.succeed(letIn);
      return outcome;
    } catch (error) {
      this.breaker.forget(letIn); // it was not asked
      throw error;
    } finally {
      this.#load.end(work);
      this.#patience.end(awaited);
      this.#usedAt = this.#clock.now();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.breaker.close();
    this.#clock.clearTimer(this.#healthTimer);
    await this.peer.close();
  }

  #check(): Promise<void> {
    return this.peer.checkReady?.(CHECK_TIMEOUT_MS) ?? Promise.resolve();
  }

  /** While nothing is sent, nobody would notice that it has gone. */
  #scheduleHealth(): void {
    if (this.peer.checkReady === undefined || this.#isClosed || !(this.#healthIntervalMs > 0)) return;
    this.#healthTimer = this.#clock.setTimer(() => void this.#checkHealth(), this.#healthIntervalMs);
  }

  async #checkHealth(): Promise<void> {
    const askedAt = this.#clock.now();
    const isIdle = this.#load.running.size === 0 && askedAt - this.#usedAt >= this.#healthIntervalMs;
    if (isIdle && this.breaker.state !== 'open') {
      try {
        await this.#check();
      } catch (error) {
        // One that has got work meanwhile is busy, and what becomes of that will tell.
        if (this.#load.running.size === 0 && this.#usedAt < askedAt) this.breaker.trip(error as Error);
      }
    }
    this.#scheduleHealth();
  }
}
