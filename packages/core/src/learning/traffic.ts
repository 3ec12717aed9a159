/**
 * What is known of the arrivals of items, admitted or rejected for lack of room or time: their rate and cost, and a
 * forecast of the next ones. One object for each queue, shared by policy, admission, planner and Retry-After.
 */
import type { CompletedBatch } from '../policy/policy.js';
import { ArrivalForecast, BATCH_MEMORY, type Forecast } from './arrival-forecast.js';
import { RECENT_ARRIVALS } from './hazard.js';

/** What the traffic was and is expected to be, without what changes it. */
export type TrafficEstimate = Readonly<Omit<Traffic, 'arrived' | 'batchEnded'>>;

export type EndedBatch = Omit<CompletedBatch, 'startedAt' | 'expectedMs'>;

/** Arrivals in the steady rate. */
const STEADY_ARRIVALS = 512;
/** Gaps that are longer than so many usual ones are pauses: after a pause, traffic goes on as before. */
const LONGEST_GAPS = 64;

export class Traffic {
  /** Means over the latest batches. */
  #busyMs = 0;
  #batchCost = 0;
  #batchSize = 0;
  /** The time of the latest arrival; −Infinity before the first. */
  lastAt = Number.NEGATIVE_INFINITY;
  readonly #recent = new MeanGap(RECENT_ARRIVALS);
  readonly #steady = new MeanGap(STEADY_ARRIVALS);
  readonly #arrivals = new ArrivalForecast();

  /** The backend time per cost of the latest batches; 0 before the first. */
  get busyMsPerCost(): number {
    return this.#batchCost > 0 ? this.#busyMs / this.#batchCost : 0;
  }

  /** The mean cost of an item. */
  get meanCost(): number {
    return this.#batchSize > 0 ? this.#batchCost / this.#batchSize : 1;
  }

  /** `count` items arrived together at `at`. */
  arrived(count: number, at: number): void {
    if (this.lastAt !== Number.NEGATIVE_INFINITY) {
      this.#recent.learn((at - this.lastAt) / count, count);
      this.#steady.learn((at - this.lastAt) / count, count);
    }
    this.lastAt = at;
    this.#arrivals.arrived(count, at);
  }

  batchEnded({ size, cost, callers, durationMs }: EndedBatch, now: number): void {
    this.#busyMs += (durationMs - this.#busyMs) / BATCH_MEMORY;
    this.#batchCost += (cost - this.#batchCost) / BATCH_MEMORY;
    this.#batchSize += (size - this.#batchSize) / BATCH_MEMORY;
    this.#arrivals.batchEnded(callers, durationMs, now);
  }

  /** Items per millisecond over about the last 128 arrivals; 0 as long as all came at one instant. */
  ratePerMs(now: number): number {
    return this.#recent.ratePerMs(now - this.lastAt);
  }

  /** The cost that arrives per millisecond, over the same arrivals. */
  costPerMs(now: number): number {
    return this.ratePerMs(now) * this.meanCost;
  }

  /** The same over about 512 arrivals: what a plan or an admission decision can rely on. */
  steadyCostPerMs(now: number): number {
    return this.#steady.ratePerMs(now - this.lastAt) * this.meanCost;
  }

  /**
   * The hold, between `leastMs` and `mostMs`, with the most expected arrivals per millisecond, if that is clearly more
   * than usual.
   */
  forecast(now: number, leastMs: number, mostMs: number): Forecast | undefined {
    return this.#arrivals.best(now, leastMs, mostMs, this.ratePerMs(now));
  }
}

/** The traffic of a backend that gets a share of all items. */
export function shareOf(traffic: TrafficEstimate, share: number): TrafficEstimate {
  const { meanCost, busyMsPerCost, lastAt } = traffic;
  return {
    ...{ meanCost, busyMsPerCost, lastAt },
    ratePerMs: (now) => share * traffic.ratePerMs(now),
    costPerMs: (now) => share * traffic.costPerMs(now),
    steadyCostPerMs: (now) => share * traffic.steadyCostPerMs(now),
    forecast: (now, leastMs, mostMs) => traffic.forecast(now, leastMs, mostMs),
  };
}

class MeanGap {
  samples = 0;
  readonly #memory: number;
  #meanMs = 0;

  constructor(memory: number) {
    this.#memory = memory;
  }

  learn(gapMs: number, times: number): void {
    this.samples += times;
    const isKnown = this.samples >= this.#memory && this.#meanMs > 0;
    const clipped = isKnown ? Math.min(gapMs, LONGEST_GAPS * this.#meanMs) : gapMs;
    this.#meanMs += (clipped - this.#meanMs) * Math.min(1, times / Math.min(this.samples, this.#memory));
  }

  /** A silence that is longer than usual counts as a gap that has not ended. */
  ratePerMs(silenceMs: number): number {
    if (this.samples === 0) return 0;
    const memory = Math.min(this.samples + 1, this.#memory);
    const gapMs = this.#meanMs + Math.max(0, silenceMs - this.#meanMs) / memory;
    return gapMs > 0 ? 1 / gapMs : 0;
  }
}
