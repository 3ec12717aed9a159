/** A peer with its circuit breaker, its learned speed and its calls in flight. */
import { BackendLoad, type Clock, type Loaded, type RunningWork } from 'batchwise';
import type { UpstreamSettings } from '../runner-settings.js';
import { CircuitBreaker } from './circuit-breaker.js';
import type { Outcome } from './outcome.js';
import { OverdueCalls } from './overdue-calls.js';
import type { UpstreamPeer } from './upstream-peer.js';

export interface UpstreamMemberOptions<P> {
  readonly peer: P;
  readonly settings: UpstreamSettings;
  readonly clock: Clock;
  readonly onChange: () => void;
}

/** The timeout of a readiness check. */
export const CHECK_TIMEOUT_MS = 5000;

export class UpstreamMember<P extends UpstreamPeer> implements Loaded {
  readonly peer: P;
  readonly breaker: CircuitBreaker;
  /** The first readiness check is in progress. The peer gets no batches until it ends. */
  isStarting = false;
  readonly #clock: Clock;
  readonly #healthIntervalMs: number;
  readonly #load = new BackendLoad();
  readonly #overdue = new OverdueCalls();
  #healthTimer: unknown;
  /** When a call last started or ended. A peer in use needs no health check. */
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

  /** Starts the health checks, after the first readiness check has succeeded or failed. */
  watch(): void {
    if (this.#isClosed) return;
    this.peer.onConnectionChange?.((error) => {
      if (error === undefined) this.breaker.probeNow();
      else this.breaker.trip(error);
    });
    this.#scheduleHealth();
  }

  get isUnavailable(): boolean {
    return this.isStarting || this.breaker.state === 'open';
  }

  get allowsCall(): boolean {
    return !this.isStarting && this.breaker.allowsCall;
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
    const pending = this.#overdue.begin(cost, startedAt);
    const admitted = this.breaker.begin();
    try {
      const outcome = await ask(this.peer);
      const now = this.#clock.now();
      const { curve } = this.#load;
      if (outcome.kind === 'answered') {
        curve.record(cost, now - startedAt, now);
        this.#overdue.answered(pending, now);
        this.breaker.succeed(admitted);
      } else if (outcome.isOutage) this.breaker.fail(admitted, outcome.error);
      else if (outcome.isAbandoned) {
        curve.recordAtLeast(cost, now - startedAt, now);
        if (this.#overdue.isOverdue(pending, now))
          this.breaker.fail(admitted, new Error(`no response within ${Math.round(now - startedAt)} ms`));
        else this.breaker.forget(admitted);
      } else this.breaker.succeed(admitted);
      return outcome;
    } catch (error) {
      this.breaker.forget(admitted); // the peer was not called
      throw error;
    } finally {
      this.#load.end(work);
      this.#overdue.end(pending);
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

  /** Without traffic, only a health check detects an outage. */
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
        // If calls have started meanwhile, the peer is busy, and their outcome decides.
        if (this.#load.running.size === 0 && this.#usedAt < askedAt) this.breaker.trip(error as Error);
      }
    }
    this.#scheduleHealth();
  }
}
