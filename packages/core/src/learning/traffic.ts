/**
 * What is known of the arrivals of items, admitted or rejected for lack of room or time: their rate and cost, and a forecast of the next ones. One object for each queue, shared
 * by policy, admission, planner and Retry-After.
 */
import type { CompletedBatch } from '../policy/policy.js';
import { ArrivalForecast, type Forecast } from './arrival-forecast.js';
import { BATCH_MEMORY, RECENT_ARRIVALS, STEADY_ARRIVALS } from './traffic-memory.js';

export interface TrafficEstimate {
  /** Items per millisecond over about the last 128 arrivals; 0 as long as all came at one instant. */
  ratePerMs(now: number): number;
  /** The cost that arrives per millisecond, over the same arrivals. */
  costPerMs(now: number): number;
  /** The same over about 512 arrivals: what a plan or an admission decision can rely on. */
  steadyCostPerMs(now: number): number;
  /** The mean cost of an item. */
  readonly meanCost: number;
  /** The backend time per cost of the latest batches; 0 before the first. */
  readonly busyMsPerCost: number;
  /** The time of the latest arrival; −Infinity before the first. */
  readonly lastAt: number;
  /** The hold, between `leastMs` and `mostMs`, with the most expected arrivals per millisecond, if that is clearly more than usual. */
  forecast(now: number, leastMs: number, mostMs: number): Forecast | undefined;
}

export type EndedBatch = Omit<CompletedBatch, 'startedAt' | 'expectedMs'>;

/** Gaps that are longer than so many usual ones are pauses: after a pause, traffic goes on as before. */
const LONGEST_GAPS = 64;

export class Traffic implements TrafficEstimate {
  /** Means over the latest batches. */
  #busyMs = 0;
  #batchCost = 0;
  #batchSize = 0;
  lastAt = Number.NEGATIVE_INFINITY;
  readonly #recent = new MeanGap(RECENT_ARRIVALS);
  readonly #steady = new MeanGap(STEADY_ARRIVALS);
  readonly #arrivals = new ArrivalForecast();

  get busyMsPerCost(): number {
    return this.#batchCost > 0 ? this.#busyMs / this.#batchCost : 0;
  }

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

  ratePerMs(now: number): number {
    return this.#recent.ratePerMs(now - this.lastAt);
  }

  costPerMs(now: number): number {
    return this.ratePerMs(now) * this.meanCost;
  }

  steadyCostPerMs(now: number): number {
    return this.#steady.ratePerMs(now - this.lastAt) * this.meanCost;
  }

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
