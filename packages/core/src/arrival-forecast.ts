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
  /** How long to wait for them. */
  readonly horizonMs: number;
}

export const NOBODY_EXPECTED: Forecast = { expected: 0, horizonMs: 0 };

/** How fast the mean of what comes together fades. */
const FADE = 1 / 32;

export class ArrivalForecast {
  #afterArrival: Hazard | undefined;
  #afterBatch: Hazard | undefined;
  #lastArrivalAt = Number.NEGATIVE_INFINITY;
  #lastBatchAt = Number.NEGATIVE_INFINITY;
  #countedUntil = 0;
  /** Callers who were answered and have not come back. */
  #away = 0;
  #meanTogether = 1;

  arrived(count: number, at: number): void {
    if (this.#afterArrival !== undefined && this.#lastArrivalAt !== Number.NEGATIVE_INFINITY) {
      const sinceMs = at - this.#lastArrivalAt;
      this.#afterArrival.passed(0, sinceMs, 1);
      this.#afterArrival.happened(sinceMs, 1);
      this.#afterArrival.fade();
    }
    this.#lastArrivalAt = at;
    this.#meanTogether += (count - this.#meanTogether) * FADE;
    this.#countAway(at);
    if (this.#away > 0) {
      this.#afterBatch?.happened(at - this.#lastBatchAt, Math.min(count, this.#away));
      this.#away = Math.max(0, this.#away - count);
    }
  }

  batchEnded(callers: number, durationMs: number, now: number): void {
    if (this.#afterArrival === undefined && durationMs > 0) {
      this.#afterArrival = new Hazard(durationMs);
      this.#afterBatch = new Hazard(durationMs);
    }
    this.#countAway(now);
    this.#afterBatch?.fade();
    this.#lastBatchAt = now;
    this.#countedUntil = now;
    this.#away += callers;
  }

  /** The horizon, from `leastMs` to `mostMs`, within which most are to be expected a millisecond. */
  best(now: number, leastMs: number, mostMs: number): Forecast {
    let best = NOBODY_EXPECTED;
    let bestPerMs = 0;
    const { expected, horizonMs } = this.#soonest(now, leastMs, mostMs);
    if (expected > 0) {
      best = { expected, horizonMs };
      bestPerMs = expected / horizonMs;
    }
    const sinceBatchMs = now - this.#lastBatchAt;
    if (this.#afterBatch === undefined || this.#away === 0) return best;
    for (const horizonMs of this.#afterBatch.horizons(sinceBatchMs, leastMs, mostMs)) {
      const expected = this.#away * this.#afterBatch.chanceWithin(sinceBatchMs, horizonMs);
      if (expected > bestPerMs * horizonMs) {
        best = { expected, horizonMs };
        bestPerMs = expected / horizonMs;
      }
    }
    return best;
  }

  #soonest(now: number, leastMs: number, mostMs: number): Forecast {
    const hazard = this.#afterArrival;
    if (hazard === undefined) return NOBODY_EXPECTED;
    const sinceMs = now - this.#lastArrivalAt;
    let best = NOBODY_EXPECTED;
    let bestPerMs = 0;
    for (const horizonMs of hazard.horizons(sinceMs, leastMs, mostMs)) {
      const chance = hazard.chanceWithin(sinceMs, horizonMs);
      if (chance === 0) continue;
      // Each that comes may bring another after it, as long as there is time.
      const inARow = Math.min(
        chance / (1 - Math.min(chance, 0.99)),
        horizonMs / hazard.meanWithin(horizonMs),
      );
      const expected = inARow * this.#meanTogether;
      if (expected > bestPerMs * horizonMs) {
        best = { expected, horizonMs };
        bestPerMs = expected / horizonMs;
      }
    }
    return best;
  }

  /** Those who are away have let so much time pass without coming. */
  #countAway(until: number): void {
    if (this.#away > 0 && this.#lastBatchAt !== Number.NEGATIVE_INFINITY) {
      this.#afterBatch?.passed(this.#countedUntil - this.#lastBatchAt, until - this.#lastBatchAt, this.#away);
    }
    this.#countedUntil = until;
  }
}
