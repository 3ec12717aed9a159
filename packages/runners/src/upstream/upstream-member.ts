/** A peer with what is known of it: whether it answers, how quick it is, what runs there now. */
import { type Clock, ServiceCurve } from 'batchwise';
import type { UpstreamSettings } from '../runner-settings.js';
import { CircuitBreaker } from './circuit-breaker.js';
import type { Outcome } from './outcome.js';
import type { UpstreamPeer } from './upstream-peer.js';

export interface UpstreamMemberOptions<P> {
  readonly peer: P;
  readonly settings: UpstreamSettings;
  readonly clock: Clock;
  readonly onChange: () => void;
}

interface RunningCall {
  readonly cost: number;
  readonly startedAt: number;
}

/** How long the question whether it is ready may take. */
export const CHECK_TIMEOUT_MS = 5000;

export class UpstreamMember<P extends UpstreamPeer> {
  readonly peer: P;
  readonly breaker: CircuitBreaker;
  readonly #clock: Clock;
  readonly #healthIntervalMs: number;
  readonly #curve = new ServiceCurve();
  readonly #running = new Set<RunningCall>();
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
    this.peer.onConnectionChange?.((error) => {
      if (error === undefined) this.breaker.lookNow();
      else this.breaker.trip(error);
    });
    this.#scheduleHealth();
  }

  /** When a batch of this cost would be done here, if it were sent now; 0 while nothing is known. */
  expectedMs(cost: number): number {
    const now = this.#clock.now();
    let waitMs = 0;
    for (const call of this.#running) {
      const durationMs = this.#curve.predict(call.cost) ?? 0;
      waitMs += Math.max(0, durationMs - (now - call.startedAt));
    }
    return waitMs + (this.#curve.predict(cost) ?? 0);
  }

  get runningCalls(): number {
    return this.#running.size;
  }

  async run<T>(cost: number, ask: (peer: P) => Promise<Outcome<T>>): Promise<Outcome<T>> {
    const call = { cost, startedAt: this.#clock.now() };
    this.#running.add(call);
    this.breaker.begin();
    try {
      const outcome = await ask(this.peer);
      this.#learn(call, outcome);
      return outcome;
    } catch (error) {
      this.breaker.forget();
      throw error;
    } finally {
      this.#running.delete(call);
      this.#usedAt = this.#clock.now();
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.breaker.close();
    this.#clock.clearTimer(this.#healthTimer);
    await this.peer.close();
  }

  #learn({ cost, startedAt }: RunningCall, outcome: Outcome<unknown>): void {
    const now = this.#clock.now();
    if (outcome.kind === 'answered') {
      this.#curve.record(cost, now - startedAt, now);
      this.breaker.succeed();
    } else if (outcome.isOutage) this.breaker.fail(outcome.error);
    else if ((outcome.error as { code?: string }).code === 'CANCELLED') this.breaker.forget();
    else this.breaker.succeed();
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
    const isIdle = this.#running.size === 0 && askedAt - this.#usedAt >= this.#healthIntervalMs;
    if (isIdle && this.breaker.state === 'closed') {
      try {
        await this.#check();
      } catch (error) {
        // One that has got work meanwhile is busy, and what becomes of that will tell.
        if (this.#running.size === 0 && this.#usedAt < askedAt) this.breaker.trip(error as Error);
      }
    }
    this.#scheduleHealth();
  }
}
