/**
 * Who is about to come? Two patterns are worth a short wait when a slot is free: bursts, in which one
 * arrival follows closely on another, and callers who were just answered and come back with their next
 * item, as those of every load test do. For both it is learned how likely an arrival is, so long after
 * the event: after the arrival before it, or after the end of a batch.
 */
import { Hazard } from './hazard.js';

export interface Forecast {
  /** How many are expected within the horizon. */
  readonly expected: number;
  /** How long to wait for them, at most. */
  readonly horizonMs: number;
  /** How long that will be, on average: until they are here, or nobody has come. */
  readonly takesMs: number;
  /** Whether they are callers who were just answered. */
  readonly areReturning: boolean;
  /** How many will come in all, sooner or later. */
  readonly inAll: number;
}

const NOBODY: Forecast = { expected: 0, horizonMs: 1, takesMs: 1, areReturning: false, inAll: 0 };

/** How much more than usual must come for it to be a burst, and to be callers who come back. */
const BURST = 3;
const RETURN = 2;

/** How fast the mean of what comes together fades, and the hope that somebody comes back. */
const FADE = 1 / 32;
/** After how many batches it is known how long they take. */
const FIRST_UNIT = 1;
/** A gap shorter than this share of the mean is one within a burst. */
const CLOSE = 0.5;

export class ArrivalForecast {
  #afterArrival: Hazard | undefined;
  #afterBatch: Hazard | undefined;
  #batches = 0;
  #usualMs = 0;
  #unitMs = 0;
  #lastArrivalAt = Number.NEGATIVE_INFINITY;
  #lastBatchAt = Number.NEGATIVE_INFINITY;
  #countedUntil = 0;
  /** Callers who were answered and have not come back. */
  #away = 0;
  /** How fast they come back at first. */
  #returnsPerMs = 0;
  /** Until when they are soon back. */
  #soonMs = 0;
  readonly #soon = new FadingRate();
  readonly #always = new FadingRate();
  #sinceBatch = 0;
  #soonSinceBatch = 0;
  #meanTogether = 1;
  #meanGapMs = 0;
  /** Arrivals that have followed closely on each other, and how many do so on average. */
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
    // Who does not come back for many batches has left.
    this.#away += callers - this.#away * FADE;
    const { expected, horizonMs } = this.#returning(0, 0, Number.POSITIVE_INFINITY);
    this.#returnsPerMs = expected / horizonMs;
    this.#soonMs = expected > 0 ? horizonMs : 0;
  }

  /**
   * The horizon, from `leastMs` to `mostMs`, within which most are to be expected a millisecond; undefined
   * when no more than usual are.
   */
  best(now: number, leastMs: number, mostMs: number, usualPerMs: number): Forecast | undefined {
    // Whether those who were answered come back at once shows at the beginning; later there are only a few left.
    const isReturn = this.#returnsPerMs > RETURN * usualPerMs && this.#cameBack;
    const returning = isReturn ? this.#returning(now - this.#lastBatchAt, leastMs, mostMs) : NOBODY;
    // They come close on each other, too; but of them it is known how many are still to come.
    if (returning.expected > 0) return returning;
    const burst = this.#burst(now, leastMs, mostMs);
    return burst.expected > BURST * usualPerMs * burst.takesMs ? burst : undefined;
  }

  /** Times are sorted by how they compare with that of a batch; when that changes much, anew. */
  #learnUnit(durationMs: number): void {
    this.#batches += 1;
    this.#usualMs += (durationMs - this.#usualMs) / Math.min(this.#batches, 16);
    const isKnown = this.#batches >= FIRST_UNIT && this.#usualMs > 0;
    const isFar = this.#usualMs > 8 * this.#unitMs || this.#usualMs * 8 < this.#unitMs;
    if (!isKnown || !isFar) return;
    this.#unitMs = this.#usualMs;
    this.#afterArrival = new Hazard(this.#unitMs);
    this.#afterBatch = new Hazard(this.#unitMs);
  }

  /** How many have followed closely on each other, and how many usually do. */
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
    if (hazard === undefined) return NOBODY;
    const sinceMs = now - this.#lastArrivalAt;
    const missing = Math.max(1, this.#meanRun) - this.#run;
    let best = NOBODY;
    if (missing <= 0) return best;
    for (const horizonMs of hazard.horizons(sinceMs, leastMs, mostMs)) {
      const chance = hazard.chanceWithin(sinceMs, horizonMs);
      const everyMs = hazard.meanWithin(horizonMs);
      // Each that comes may bring another after it, as long as there is time.
      const inARow = Math.min(chance / (1 - Math.min(chance, 0.99)), horizonMs / everyMs);
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
    if (likeliest === undefined) return NOBODY;
    const { chance, horizonMs } = likeliest;
    return { expected: away * chance, horizonMs, takesMs: horizonMs, areReturning: true, inAll: away };
  }

  /** Whether more came soon after batches than at other times. If not, they came by themselves. */
  get #cameBack(): boolean {
    return this.#soon.perMs > RETURN * this.#always.perMs;
  }

  #countSoon(now: number): void {
    if (this.#lastBatchAt !== Number.NEGATIVE_INFINITY) {
      const sinceMs = now - this.#lastBatchAt;
      this.#always.add(this.#sinceBatch, sinceMs);
      this.#soon.add(this.#soonSinceBatch, Math.min(this.#soonMs, sinceMs));
    }
    this.#sinceBatch = 0;
    this.#soonSinceBatch = 0;
  }

  /** Those who are away have let so much time pass without coming. */
  #countAway(until: number): void {
    if (this.#away > 0 && this.#lastBatchAt !== Number.NEGATIVE_INFINITY) {
      this.#afterBatch?.passed(this.#countedUntil - this.#lastBatchAt, until - this.#lastBatchAt, this.#away);
    }
    this.#countedUntil = until;
  }
}

/** Events a millisecond over the last batches, the older ones fading. */
class FadingRate {
  #events = 0;
  #ms = 0;

  add(events: number, ms: number): void {
    this.#events += events - this.#events * FADE;
    this.#ms += ms - this.#ms * FADE;
  }

  get perMs(): number {
    return this.#ms > 0 ? this.#events / this.#ms : 0;
  }
}
