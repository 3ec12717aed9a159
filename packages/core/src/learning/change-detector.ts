/**
 * Tells a change of the backend from outliers. One batch that is far off is an outlier; several in a row on the same side
 * are a change. How many depends on how common outliers are. Batches that overlap in time may all have been delayed by
 * one event and count as one.
 */
import { type Bucket, MEMORY, SURE_WEIGHT, TRUSTED_SAMPLES } from './curve-table.js';

/** The probability that surprises in a row are chance, below which the backend is taken to have changed. */
const CHANCE = 1e-5;

/** Below this share of the first durations, a batch shows that these were a slow start. */
const SLOW_START = 0.5;

/** All durations have changed by a factor, except for those that are right already. */
export interface Change {
  readonly factor: number;
  isRight(bucket: Bucket): boolean;
}

export class ChangeDetector {
  /** Durations ÷ expectation of the latest batches, as long as all were surprising on the same side. */
  #surprises: number[] = [];
  #isSlower = false;
  /** Whether any of them contradicted a trusted estimate. */
  #contradictsTrusted = false;
  /** Whether a batch has met its expectation since the latest surprise. */
  #isConfirmed = true;
  /** The number of samples at the first surprise, and the time of the latest. */
  #since = 0;
  #latestAt = Number.NEGATIVE_INFINITY;
  /** The share of batches that are surprising: higher with heavy tails. */
  #rate = 1 / MEMORY;

  get hasSurprises(): boolean {
    return this.#surprises.length > 0;
  }

  /** A batch took `ratio` times its expectation, 1 if it is no surprise; `compared` are the estimates behind that. */
  observe(
    bucket: Bucket,
    ratio: number,
    compared: readonly (Bucket | undefined)[],
    samples: number,
    startedAt: number,
    now: number,
  ): Change | undefined {
    const isSurprise = ratio !== 1;
    if (isSurprise && startedAt < this.#latestAt) return undefined;
    // Only an estimate that was made before the first surprise can confirm that nothing has changed.
    const isNew = bucket.weight === 0 || bucket.since >= this.#since;
    if (!isSurprise && isNew && !this.#isConfirmed) return undefined;
    const isSlower = ratio > 1;
    bucket.surprises = isSurprise && isSlower === bucket.isSlower ? bucket.surprises + 1 : Number(isSurprise);
    bucket.isSlower = isSlower;
    if (!isSurprise) {
      this.#wereOutliers();
      this.#isConfirmed = true;
      this.#rate -= this.#rate / MEMORY;
      return undefined;
    }
    if (isSlower !== this.#isSlower) this.#wereOutliers();
    if (this.#isConfirmed || isSlower !== this.#isSlower) this.#since = samples;
    if (this.#surprises.length === 0) this.#contradictsTrusted = false;
    this.#isConfirmed = false;
    this.#isSlower = isSlower;
    if (compared.some((known) => known !== undefined && known.weight >= SURE_WEIGHT))
      this.#contradictsTrusted = true;
    this.#surprises.push(ratio);
    this.#latestAt = now;
    const isSlowStart = samples < TRUSTED_SAMPLES && ratio < SLOW_START;
    const needed = isSlowStart ? 1 : Math.ceil(Math.log(CHANCE) / Math.log(Math.max(this.#rate, 1 / MEMORY)));
    if (this.#surprises.length >= needed) return this.#change();
    // The other sizes may be right, and this one alone wrong.
    if (bucket.surprises >= needed) bucket.weight = 1;
    return undefined;
  }

  /** The median factor. What was measured meanwhile is right already. */
  #change(): Change {
    const factor = this.#surprises.sort((a, b) => a - b)[this.#surprises.length >> 1] as number;
    this.#surprises = [];
    const [since, contradictsTrusted] = [this.#since, this.#contradictsTrusted];
    return {
      factor,
      isRight: (bucket) => bucket.since >= since || (bucket.weight >= SURE_WEIGHT && !contradictsTrusted),
    };
  }

  #wereOutliers(): void {
    for (const _ of this.#surprises) this.#rate += (1 - this.#rate) / MEMORY;
    this.#surprises = [];
  }
}
