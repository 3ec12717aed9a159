/**
 * The rate at which an event happens, by the time since another event. Times are sorted into bins that double in
 * length; each bin counts how often the event happened in it and for how long it could have.
 */
import { ROUNDING_MS } from '../time/clock.js';

/** Arrivals in the rate of the moment, and in the hazards: off by a tenth at most, and quick to follow the traffic. */
export const RECENT_ARRIVALS = 128;
const BINS = 12;
/** Doublings from the end of the first bin to the unit. */
const DOUBLINGS_BELOW = 9;

interface Likelihood {
  readonly chance: number;
  readonly horizonMs: number;
}

export class Hazard {
  readonly #ends: Float64Array;
  readonly #happened = new Float64Array(BINS);
  readonly #happenedMs = new Float64Array(BINS);
  readonly #passedMs = new Float64Array(BINS);

  /** The bins lie around a typical time: the duration of a batch. */
  constructor(unitMs: number) {
    this.#ends = Float64Array.from({ length: BINS }, (_, i) => unitMs * 2 ** (i - DOUBLINGS_BELOW));
    this.#ends[BINS - 1] = Number.POSITIVE_INFINITY;
  }

  /** The event could have happened, `weight` times, between two times. */
  passed(fromMs: number, toMs: number, weight: number): void {
    for (let bin = this.#binOf(fromMs); bin < BINS; bin++) {
      const start = Math.max(fromMs, this.#startOf(bin));
      if (start >= toMs) return;
      const end = Math.min(toMs, this.#ends[bin] as number);
      this.#passedMs[bin] = (this.#passedMs[bin] as number) + weight * (end - start);
    }
  }

  happened(afterMs: number, times: number): void {
    const bin = this.#binOf(afterMs);
    this.#happened[bin] = (this.#happened[bin] as number) + times;
    this.#happenedMs[bin] = (this.#happenedMs[bin] as number) + times * afterMs;
  }

  /** Reduces the weight of all that was learned in favour of what follows. */
  fade(): void {
    for (let bin = 0; bin < BINS; bin++) {
      this.#happened[bin] = (this.#happened[bin] as number) * (1 - 1 / RECENT_ARRIVALS);
      this.#happenedMs[bin] = (this.#happenedMs[bin] as number) * (1 - 1 / RECENT_ARRIVALS);
      this.#passedMs[bin] = (this.#passedMs[bin] as number) * (1 - 1 / RECENT_ARRIVALS);
    }
  }

  /** A lower bound of the chance that the event happens within `horizonMs`, given that it has not for `sinceMs`. */
  chanceWithin(sinceMs: number, horizonMs: number): number {
    const toMs = sinceMs + horizonMs;
    let expected = 0;
    for (let bin = this.#binOf(sinceMs); bin < BINS; bin++) {
      const start = Math.max(sinceMs, this.#startOf(bin));
      if (start >= toMs) break;
      expected += this.#leastRate(bin) * (Math.min(toMs, this.#ends[bin] as number) - start);
    }
    return 1 - Math.exp(-expected);
  }

  /** The horizon, from `leastMs` to `mostMs`, with the highest chance per millisecond; undefined without any chance. */
  likeliest(sinceMs: number, leastMs: number, mostMs: number): Likelihood | undefined {
    let best: Likelihood | undefined;
    for (const horizonMs of this.horizons(sinceMs, leastMs, mostMs)) {
      const chance = this.chanceWithin(sinceMs, horizonMs);
      if (chance > 0 && (best === undefined || chance * best.horizonMs > best.chance * horizonMs))
        best = { chance, horizonMs };
    }
    return best;
  }

  /** The mean time of the events that happened within `horizonMs`. */
  meanWithin(horizonMs: number): number {
    let happened = 0;
    let sumMs = 0;
    for (let bin = 0; bin < BINS && this.#startOf(bin) < horizonMs; bin++) {
      happened += this.#happened[bin] as number;
      sumMs += this.#happenedMs[bin] as number;
    }
    return happened > 0 ? Math.min(horizonMs, Math.max(sumMs / happened, ROUNDING_MS)) : horizonMs;
  }

  /** The times from now to the ends of the bins ahead. */
  *horizons(sinceMs: number, leastMs: number, mostMs: number): Generator<number> {
    // A bin that is nearly over is skipped.
    const least = Math.max(leastMs, this.#ends[0] as number);
    for (let bin = this.#binOf(sinceMs); bin < BINS - 1; bin++) {
      const horizonMs = (this.#ends[bin] as number) - sinceMs;
      if (horizonMs > mostMs) return;
      if (horizonMs >= least) yield horizonMs;
    }
  }

  /** Events per millisecond in a bin, less one standard error. */
  #leastRate(bin: number): number {
    const happened = this.#happened[bin] as number;
    const passedMs = this.#passedMs[bin] as number;
    return passedMs > 0 ? Math.max(0, happened - Math.sqrt(happened)) / passedMs : 0;
  }

  #startOf(bin: number): number {
    return bin === 0 ? 0 : (this.#ends[bin - 1] as number);
  }

  #binOf(ms: number): number {
    let bin = 0;
    while (bin < BINS - 1 && ms >= (this.#ends[bin] as number)) bin += 1;
    return bin;
  }
}
