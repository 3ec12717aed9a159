import type { Bucket } from './curve-bucket.js';
import { durationAt } from './duration-at.js';
import { FormerCurve } from './former-curve.js';
import { monotone } from './monotone.js';
import { paddedTo } from './padding.js';
import { TRUSTED_SAMPLES } from './trust.js';

/**
 * The learned service curve: how long a batch of a given cost takes. A table of what was seen, not a
 * line through it, because real curves are flat and then linear, stepped, or worse past some size.
 */
export interface CurveEstimate {
  /** The expected duration of a batch of this cost; undefined before anything was learned. */
  predict(cost: number): number | undefined;
  /** The cost up to `maxCost` at which the backend gets most done per millisecond. */
  best(maxCost: number): CurvePoint | undefined;
  /** What was learned, by rising cost; a larger batch never counts as quicker. */
  points(): readonly LearnedPoint[];
  /** How many batches of this cost what is known rests on, up to 64. */
  weightOf(cost: number): number;
  /** The standard deviation of durations, relative to what was expected. */
  readonly spread: number;
  readonly samples: number;
  /** When it last learned something; −Infinity before the first batch. */
  readonly updatedAt: number;
}

export interface CurvePoint {
  readonly cost: number;
  readonly durationMs: number;
}

export interface LearnedPoint extends CurvePoint {
  /** How many batches it rests on, up to 64. */
  readonly weight: number;
}

/** How many batches it remembers, so that it follows a backend that changes. */
const MEMORY = 64;
/** As how many batches what is told beforehand counts: it is believed, but not for long against what is seen. */
const KNOWN_WEIGHT = 3;
const OUTLIER_SPREADS = 4;
/** Up to which cost every whole one is learned by itself. */
const FINE = 256;
/** So steady is no clock. */
const LEAST_SPREAD = 0.02;
/** What takes more than twice as long was held up by something else: how far says nothing of the backend. */
const MOST_RESIDUAL = 1;
/** What is off by less is learned soon enough as it comes. */
const LEAST_SURPRISE = 0.25;
/** How much quicker a larger batch must be, whatever the spread, to cast doubt on a smaller one not seen for so long. */
const MOST_DOUBT = 0.4;
const LATELY = 16;
/** So few batches of a size may all have been held up. */
const HARDLY_SEEN = 2;
/** One that is far off is an outlier; so many in a row, all quicker or all slower, are a backend that has changed. */
const MOST_SURPRISES = 3;

export class ServiceCurve implements CurveEstimate {
  samples = 0;
  updatedAt = Number.NEGATIVE_INFINITY;
  /** How often the backend was taken to have changed. */
  changes = 0;
  #buckets: Bucket[] = [];
  #variance = 0;
  #residuals = 0;
  /** The latest batches, as long as all were far off on the same side. */
  #surprises: CurvePoint[] = [];
  #wereSlower = false;
  #former: FormerCurve | undefined;
  /** The buckets made monotone; undefined when something was learned since. */
  #points: readonly LearnedPoint[] | undefined;
  /** The answer to the latest question for the best, until something was learned. */
  #best: CurvePoint | undefined;
  #bestUpTo = 0;
  #batchSizes: readonly number[];

  /** Begins with what is known beforehand; all that is padded to one of `batchSizes` takes as long as that. */
  constructor(known: readonly CurvePoint[] = [], batchSizes: readonly number[] = []) {
    this.#batchSizes = batchSizes;
    for (const { cost, durationMs } of known) {
      const bucket = this.#bucketFor(this.padded(cost));
      bucket.durationMs = durationMs;
      bucket.weight = KNOWN_WEIGHT;
    }
  }

  /** What a batch of this cost counts as, for a backend that pads. */
  padded(cost: number): number {
    return paddedTo(this.#batchSizes, cost);
  }

  /** The backend pads differently from now on: what was learned says nothing of it. */
  padTo(batchSizes: readonly number[]): void {
    if (batchSizes.join() === this.#batchSizes.join()) return;
    this.#batchSizes = batchSizes;
    this.samples = 0;
    this.#buckets = [];
    this.#surprises = [];
    this.#former = undefined;
    this.#points = undefined;
    this.#best = undefined;
  }

  get spread(): number {
    return Math.sqrt(this.#variance);
  }

  record(itemsCost: number, durationMs: number, now: number): void {
    const cost = this.padded(itemsCost);
    this.#changeBack(cost, durationMs);
    this.#doubtSlower(cost, durationMs);
    const bucket = this.#bucketFor(cost);
    if (this.#isSurprising(bucket, cost, durationMs) && this.#surprises.length === MOST_SURPRISES)
      this.#startAnew();
    else this.#learn(bucket, cost, durationMs);
    this.samples += 1;
    this.updatedAt = now;
    this.#forgetLargest();
    this.#points = undefined;
    this.#best = undefined;
  }

  /** A batch of this cost was given up after so long: that tells something if it is longer than expected. */
  recordAtLeast(cost: number, elapsedMs: number, now: number): void {
    const expected = this.predict(cost);
    if (expected === undefined || elapsedMs > expected) this.record(cost, elapsedMs, now);
  }

  /**
   * A larger batch that was far quicker casts doubt on what is known of smaller ones: on a first batch that
   * was slow because it was the first, on what was told beforehand and is not true. Each takes one from
   * what it rests on, until nothing is left of it; of a cold start, at once.
   */
  #doubtSlower(cost: number, durationMs: number): void {
    const far = 1 - Math.min(MOST_DOUBT, Math.max(LEAST_SURPRISE, 3 * this.spread));
    let isGone = false;
    for (const bucket of this.#buckets) {
      if (bucket.cost >= cost) break;
      const isSeenLately = this.samples - bucket.seenAt < LATELY && this.samples >= LATELY;
      if (isSeenLately || durationMs >= far * bucket.durationMs) continue;
      bucket.weight -= this.#wasColdStart(bucket, durationMs) ? bucket.weight : 1;
      isGone ||= bucket.weight < 1;
    }
    if (isGone) this.#buckets = this.#buckets.filter(({ weight }) => weight >= 1);
  }

  /** Keeps count of batches in a row that are far off on the same side; a size never seen cannot surprise. */
  #isSurprising({ durationMs: expected, weight }: Bucket, cost: number, durationMs: number): boolean {
    if (weight === 0) return false;
    const isSlower = durationMs > expected;
    const isFarOff =
      Math.abs(durationMs - expected) > Math.max(this.#allowed(expected), LEAST_SURPRISE * expected);
    if (!isFarOff || isSlower !== this.#wereSlower) this.#surprises = [];
    if (!isFarOff) return false;
    this.#wereSlower = isSlower;
    this.#surprises.push({ cost, durationMs });
    return true;
  }

  /** The backend has changed: what was learned is worth no more than these few batches, unless it changes back soon. */
  #startAnew(): void {
    const surprises = this.#surprises;
    this.#former ??= new FormerCurve(this.#buckets, this.spread, this.samples);
    this.changes += 1;
    this.#surprises = [];
    this.#buckets = [];
    for (const { cost, durationMs } of surprises) this.#learn(this.#bucketFor(cost), cost, durationMs);
  }

  #changeBack(cost: number, durationMs: number): void {
    if (this.#former?.isBack(cost, durationMs)) {
      this.#buckets = this.#former.buckets;
      this.changes += 1;
      this.#surprises = [];
      this.#former = undefined;
    } else if (this.#former?.isForgotten) this.#former = undefined;
  }

  /** Whether what was learned first is to be forgotten, as this took less than half as long. */
  #wasColdStart({ durationMs: expected }: Bucket, durationMs: number): boolean {
    return this.samples < TRUSTED_SAMPLES && durationMs * 2 < expected;
  }

  #learn(bucket: Bucket, cost: number, durationMs: number): void {
    bucket.seenAt = this.samples;
    const expected = bucket.durationMs;
    if (bucket.weight === 0 || this.#wasColdStart(bucket, durationMs)) {
      bucket.cost = cost;
      bucket.durationMs = durationMs;
      bucket.weight = 1;
      return;
    }
    const allowed = this.#allowed(expected);
    const clipped = Math.min(Math.max(durationMs, expected - allowed), expected + allowed);
    const part = 1 / Math.min(bucket.weight + 1, MEMORY);
    bucket.durationMs += (clipped - expected) * part;
    bucket.cost += (cost - bucket.cost) * part;
    bucket.weight = Math.min(bucket.weight + 1, MEMORY);
    if (expected === 0) return;
    const residual = Math.min(MOST_RESIDUAL, (clipped - expected) / expected);
    // What is expected is itself a mean of few, and off by that much more.
    const square = residual * residual * (1 - part);
    this.#residuals = Math.min(this.#residuals + 1, MEMORY);
    this.#variance += (square - this.#variance) / this.#residuals;
  }

  /**
   * Forgets the largest size when it was slower than the others let expect and has not been seen for
   * long. It would otherwise keep batches from ever growing that large again, and nobody would learn
   * that it is quick now.
   */
  #forgetLargest(): void {
    const largest = this.#buckets.at(-1);
    if (largest === undefined || this.samples - largest.seenAt <= MEMORY) return;
    if (this.#forgetsFrom(this.#buckets.length - 1, LEAST_SURPRISE)) return;
    // Of those next to it that were hardly ever seen either, all may have been held up.
    let from = this.#buckets.length - 1;
    for (let next = this.#buckets[from - 1]; next !== undefined; next = this.#buckets[from - 1]) {
      if (next.weight > HARDLY_SEEN || this.samples - next.seenAt <= MEMORY) break;
      from -= 1;
    }
    if (this.#forgetsFrom(from, MOST_RESIDUAL)) return;
    largest.seenAt = this.samples; // to be looked at again
  }

  /** Forgets these and all larger if the largest took so much longer than the others let expect. */
  #forgetsFrom(from: number, surprise: number): boolean {
    const largest = this.#buckets.at(-1) as Bucket;
    const unseen = this.#buckets.splice(from);
    this.#points = undefined;
    const expected = this.predict(largest.cost);
    if (expected !== undefined && largest.durationMs > expected * (1 + surprise)) return true;
    this.#buckets.push(...unseen);
    this.#points = undefined;
    return false;
  }

  /** How far a duration may be off what is expected before it counts as an outlier. */
  #allowed(expected: number): number {
    if (this.samples < TRUSTED_SAMPLES || expected === 0) return Number.POSITIVE_INFINITY;
    return OUTLIER_SPREADS * Math.max(this.spread, LEAST_SPREAD) * expected;
  }

  predict(itemsCost: number): number | undefined {
    const points = this.#monotonePoints();
    const first = points[0];
    if (first === undefined) return undefined;
    const cost = this.padded(itemsCost);
    const last = points[points.length - 1] as CurvePoint;
    return durationAt(points, cost) ?? last.durationMs + this.#leastSlope(first, last) * (cost - last.cost);
  }

  points(): readonly LearnedPoint[] {
    return this.#monotonePoints();
  }

  /**
   * How durations are sure to grow beyond what was seen. Between two sizes that are measured with some
   * noise any slope could be read; better to let a few too many in and learn than to refuse for that.
   */
  #leastSlope(first: CurvePoint, last: CurvePoint): number {
    if (first === last) return 0;
    const doubt = 2 * Math.max(this.spread, LEAST_SPREAD);
    const rise = last.durationMs * (1 - doubt) - first.durationMs * (1 + doubt);
    return Math.max(0, rise / (last.cost - first.cost));
  }

  best(maxCost: number): CurvePoint | undefined {
    if (this.#best !== undefined && this.#bestUpTo === maxCost) return this.#best;
    this.#bestUpTo = maxCost;
    this.#best = this.#findBest(maxCost);
    return this.#best;
  }

  /** The smallest cost seen so far. */
  get smallestCost(): number {
    return this.#buckets[0]?.cost ?? 0;
  }

  /** The largest cost seen so far. */
  get largestCost(): number {
    return this.#buckets.at(-1)?.cost ?? 0;
  }

  #findBest(maxCost: number): CurvePoint | undefined {
    const points = this.#monotonePoints();
    const last = points.at(-1);
    if (last === undefined) return undefined;
    // Without a limit all that waits leaves at once, however much that is.
    if (maxCost === Number.POSITIVE_INFINITY) return { cost: maxCost, durationMs: last.durationMs };
    let best: CurvePoint = { cost: maxCost, durationMs: this.predict(maxCost) ?? last.durationMs };
    for (const point of points) {
      const { cost, durationMs } = point;
      if (cost <= maxCost && cost * best.durationMs > best.cost * durationMs) best = { cost, durationMs };
    }
    return best;
  }

  weightOf(cost: number): number {
    const key = keyOf(this.padded(cost));
    const bucket = this.#buckets[this.#placeOf(key)];
    return bucket?.key === key ? bucket.weight : 0;
  }

  #bucketFor(cost: number): Bucket {
    const key = keyOf(cost);
    const place = this.#placeOf(key);
    const found = this.#buckets[place];
    if (found?.key === key) return found;
    const bucket = { key, cost, durationMs: 0, weight: 0, since: this.samples, seenAt: this.samples };
    this.#buckets.splice(place, 0, bucket);
    return bucket;
  }

  #placeOf(key: number): number {
    let low = 0;
    let high = this.#buckets.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#buckets[middle] as Bucket).key < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #monotonePoints(): readonly LearnedPoint[] {
    this.#points ??= monotone(this.#buckets);
    return this.#points;
  }
}

/** Whole costs each their own, because a backend that pads may jump from any of them to the next; larger ones 32 to a doubling. */
function keyOf(cost: number): number {
  if (cost < 1) return Math.floor(8 * Math.log2(cost));
  return cost <= FINE ? Math.round(cost) : Math.round(FINE + 32 * Math.log2(cost / FINE));
}
