/**
 * Predicts arrivals that are worth a short hold while a slot is free. Two patterns are: bursts, in which one arrival
 * follows closely on another, and callers that were just answered and come back with their next item, as in a load
 * test. For both, the forecast learns how likely an arrival is at a given time after the event: after the previous
 * arrival, or after the end of a batch.
 */
import { Hazard } from './hazard.js';

export interface Forecast {
  /** Expected arrivals within the horizon. */
  readonly expected: number;
  /** The longest hold for them. */
  readonly horizonMs: number;
  /** The expected hold, until they have arrived or the horizon has passed. */
  readonly takesMs: number;
  /** Whether they are callers that were just answered. */
  readonly areReturning: boolean;
  /** Expected arrivals in all, however long they take. */
  readonly inAll: number;
}

const NONE: Forecast = { expected: 0, horizonMs: 1, takesMs: 1, areReturning: false, inAll: 0 };

/** Expected arrivals per millisecond, as a multiple of the usual rate, that make a burst. */
const BURST = 3;
/** The same for callers that come back. */
const RETURN = 2;
/** Batches in the means of costs, gaps and runs, and the weight of a new one. */
export const BATCH_MEMORY = 32;
const FADE = 1 / BATCH_MEMORY;
/** Batches in the mean duration that is the unit of the hazards, and the ratio from which they start anew. */
const UNIT_BATCHES = 16;
const UNIT_RATIO = 8;
/** A gap below this share of the mean gap is within a burst. */
const CLOSE = 0.5;

export class ArrivalForecast {
  #afterArrival: Hazard | undefined;
  #afterBatch: Hazard | undefined;
  #batches = 0;
  #meanBatchMs = 0;
  /** The batch duration that the bins of the hazards were made for. */
  #unitMs = 0;
  #lastArrivalAt = Number.NEGATIVE_INFINITY;
  #lastBatchAt = Number.NEGATIVE_INFINITY;
  #countedUntil = 0;
  /** Answered callers that have not come back. */
  #away = 0;
  /** The rate of returns right after a batch, and for how long it lasts. */
  #returnsPerMs = 0;
  #soonMs = 0;
  /** Mean arrivals, and mean time, after a batch: in all, and within `soonMs`. */
  readonly #always = { arrivals: 0, ms: 0 };
  readonly #soon = { arrivals: 0, ms: 0 };
  #sinceBatch = 0;
  #soonSinceBatch = 0;
  #meanTogether = 1;
  #meanGapMs = 0;
  /** Arrivals so far that followed closely on each other, and their usual number. */
  #run = 0;
  #meanRun = 1;

  arrived(count: number, at: number): void {
    if (this.#afterArrival !== undefined && this.#lastArrivalAt !== Number.NEGATIVE_INFINITY) {
      const sinceMs = at - this.#lastArrivalAt;
      this.#countRun(count, sinceMs);
      this.#afterArrival.passed(0, sinceMs, 1);
      this.#afterArrival.happened(sinceMs, 1);
      this.#afterArrival.fade();
    }
    this.#lastArrivalAt = at;
    this.#meanTogether += (count - this.#meanTogether) * FADE;
    this.#sinceBatch += count;
    if (at - this.#lastBatchAt <= this.#soonMs) this.#soonSinceBatch += count;
    this.#countAway(at);
    if (this.#away > 0) {
      this.#afterBatch?.happened(at - this.#lastBatchAt, Math.min(count, this.#away));
      this.#away = Math.max(0, this.#away - count);
    }
  }

  batchEnded(callers: number, durationMs: number, now: number): void {
    this.#learnUnit(durationMs);
    this.#countAway(now);
    this.#countSoon(now);
    this.#afterBatch?.fade();
    this.#lastBatchAt = now;
    this.#countedUntil = now;
    // A caller that does not come back for many batches is no longer expected.
    this.#away += callers - this.#away * FADE;
    const { expected, horizonMs } = this.#returning(0, 0, Number.POSITIVE_INFINITY);
    this.#returnsPerMs = expected / horizonMs;
    this.#soonMs = expected > 0 ? horizonMs : 0;
  }

  /**
   * The horizon, from `leastMs` to `mostMs`, with the most expected arrivals per millisecond; undefined when they are no
   * more than usual.
   */
  best(now: number, leastMs: number, mostMs: number, usualPerMs: number): Forecast | undefined {
    // Whether answered callers come back at once shows right after a batch; later, few of them are left.
    const isReturn = this.#returnsPerMs > RETURN * usualPerMs && this.#cameBack;
    const returning = isReturn ? this.#returning(now - this.#lastBatchAt, leastMs, mostMs) : NONE;
    // Returning callers also follow closely on each other, but how many are still to come is known.
    if (returning.expected > 0) return returning;
    const burst = this.#burst(now, leastMs, mostMs);
    return burst.expected > BURST * usualPerMs * burst.takesMs ? burst : undefined;
  }

  /** The bins of the hazards are multiples of a batch duration. When it changes much, they start anew. */
  #learnUnit(durationMs: number): void {
    this.#batches += 1;
    this.#meanBatchMs += (durationMs - this.#meanBatchMs) / Math.min(this.#batches, UNIT_BATCHES);
    const isFar =
      this.#meanBatchMs > UNIT_RATIO * this.#unitMs || this.#meanBatchMs * UNIT_RATIO < this.#unitMs;
    if (!isFar || this.#meanBatchMs === 0) return;
    this.#unitMs = this.#meanBatchMs;
    this.#afterArrival = new Hazard(this.#unitMs);
    this.#afterBatch = new Hazard(this.#unitMs);
  }

  #countRun(count: number, sinceMs: number): void {
    this.#meanGapMs += (sinceMs - this.#meanGapMs) * FADE;
    if (sinceMs < CLOSE * this.#meanGapMs) {
      this.#run += count;
      return;
    }
    this.#meanRun += (this.#run - this.#meanRun) * FADE;
    this.#run = count;
  }

  #burst(now: number, leastMs: number, mostMs: number): Forecast {
    const hazard = this.#afterArrival;
    const missing = Math.max(1, this.#meanRun) - this.#run;
    let best = NONE;
    if (hazard === undefined || missing <= 0) return best;
    const sinceMs = now - this.#lastArrivalAt;
    for (const horizonMs of hazard.horizons(sinceMs, leastMs, mostMs)) {
      const chance = hazard.chanceWithin(sinceMs, horizonMs);
      const everyMs = hazard.meanWithin(horizonMs);
      // Each arrival may be followed by another, as long as there is time.
      const inARow = Math.min(chance / (1 - chance), horizonMs / everyMs);
      const expected = Math.min(missing, inARow * this.#meanTogether);
      const gatherMs = (expected / this.#meanTogether) * everyMs;
      const takesMs = Math.min(horizonMs, gatherMs + (1 - chance) * horizonMs);
      if (expected * best.takesMs > best.expected * takesMs) {
        best = { expected, horizonMs, takesMs, areReturning: false, inAll: expected };
      }
    }
    return best;
  }

  #returning(sinceMs: number, leastMs: number, mostMs: number): Forecast {
    const away = this.#away;
    const likeliest = away > 0 ? this.#afterBatch?.likeliest(sinceMs, leastMs, mostMs) : undefined;
    if (likeliest === undefined) return NONE;
    const { chance, horizonMs } = likeliest;
    return { expected: away * chance, horizonMs, takesMs: horizonMs, areReturning: true, inAll: away };
  }

  /** Whether more items arrived soon after batches than at other times. If not, callers do not react to answers. */
  get #cameBack(): boolean {
    const { arrivals, ms } = this.#soon;
    return ms > 0 && arrivals * this.#always.ms > RETURN * this.#always.arrivals * ms;
  }

  #countSoon(now: number): void {
    if (this.#lastBatchAt !== Number.NEGATIVE_INFINITY) {
      const sinceMs = now - this.#lastBatchAt;
      this.#always.arrivals += (this.#sinceBatch - this.#always.arrivals) * FADE;
      this.#always.ms += (sinceMs - this.#always.ms) * FADE;
      this.#soon.arrivals += (this.#soonSinceBatch - this.#soon.arrivals) * FADE;
      this.#soon.ms += (Math.min(this.#soonMs, sinceMs) - this.#soon.ms) * FADE;
    }
    this.#sinceBatch = 0;
    this.#soonSinceBatch = 0;
  }

  /** Records for how long the callers that are away have not come back. */
  #countAway(until: number): void {
    if (this.#away > 0 && this.#lastBatchAt !== Number.NEGATIVE_INFINITY) {
      this.#afterBatch?.passed(this.#countedUntil - this.#lastBatchAt, until - this.#lastBatchAt, this.#away);
    }
    this.#countedUntil = until;
  }
}
