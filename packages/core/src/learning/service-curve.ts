/**
 * The learned service curve T(b): how long a batch of cost b takes, and how much that varies. It is a table of what was
 * measured and not a fitted line, because real curves are flat and then linear, stepped, or slower per item past some
 * size. Policy, admission, planner and Retry-After all ask this one predictor.
 */
import { type Change, ChangeDetector } from './change-detector.js';
import {
  type Bucket,
  type CurvePoint,
  durationAt,
  type LearnedPoint,
  MEMORY,
  monotone,
  paddedTo,
  SURE_WEIGHT,
  TRUSTED_SAMPLES,
} from './curve-table.js';

export type { CurvePoint, LearnedPoint } from './curve-table.js';

/** What a service curve tells, without what changes it. */
export type CurveEstimate = Readonly<
  Omit<ServiceCurve, 'record' | 'recordAtLeast' | 'copy' | 'padTo' | 'padded' | 'largestCost'>
>;

/** A curve from which something was learned: every cost has a duration. */
export interface KnownCurve extends CurveEstimate {
  mean(cost: number): number;
  lower(cost: number): number;
  upper(cost: number): number;
  bestSize(maxCost: number, withinMs?: number): CurvePoint;
}

export function isKnown(curve: CurveEstimate): curve is KnownCurve {
  return curve.mean(1) !== undefined;
}

/** Standard deviations beyond which a duration is an outlier. */
const OUTLIER = 4;
/** The smallest coefficient of variation: no clock and no backend is steadier. */
const LEAST_VARIATION = 0.02;
/** Relative differences below this are learned from as they come; larger ones may be a change of the backend. */
const LEAST_SURPRISE = 0.25;
/**
 * A duration below this share of its expectation is a surprise however much durations vary, as one above the inverse is.
 * Otherwise a backend that becomes slow would be noticed, and its recovery would not: 100 batches after a spell of 100 ×
 * the duration, the estimate would be 13 × too high.
 */
const LEAST_RATIO = 1 / (1 + OUTLIER);
/** Standard deviations by which two durations are moved closer before a larger one is extrapolated from them. */
const GROWTH_DOUBT = 2;
/** The age of the latest measurement after which items are not rejected because of it: one batch is tried. */
export const ESTIMATE_FRESH_MS = 1000;
/** Every whole cost up to this has its own estimate: a backend that pads may jump from any of them to the next. */
const FINE = 256;
/** Estimates per doubling of the cost above that, and below 1. */
const PER_DOUBLING = 32;
/** Standard deviations, or errors of a mean, from which a difference is not chance, even the largest of many. */
export const CERTAIN_DEVIATIONS = 3;
/** The share of the largest size from which a batch counts as full. */
const NEARLY_FULL = 0.9;
/** A throughput that drops only at more than this multiple of a size is no step at that size. */
const STEP_REACH = 1.5;
/** The least relative gain in throughput that makes a smaller size better than a larger one. */
const MIN_THROUGHPUT_GAIN = 0.03;

export class ServiceCurve {
  samples = 0;
  /** When the latest batch was recorded; −Infinity before the first. */
  updatedAt = Number.NEGATIVE_INFINITY;
  #batchSizes: readonly number[];
  #buckets: Bucket[] = [];
  #variance = 0;
  #residuals = 0;
  #changes = new ChangeDetector();
  #points: readonly LearnedPoint[] | undefined;
  #best: CurvePoint | undefined;
  #bestUpTo = Number.NaN;
  #steps: readonly number[] | undefined;

  /** Starts with the `curve` option, if any; costs that are padded to one of `batchSizes` share its duration. */
  constructor(known: readonly CurvePoint[] = [], batchSizes: readonly number[] = []) {
    this.#batchSizes = batchSizes;
    for (const { cost, durationMs } of known) {
      const bucket = this.#bucketFor(this.padded(cost));
      bucket.durationMs = durationMs;
      bucket.weight = SURE_WEIGHT - 1; // used until it is measured
      bucket.since = -1;
    }
  }

  /** A curve that starts with these estimates, as if they had been given beforehand. */
  copy(): ServiceCurve {
    return new ServiceCurve(this.points(), this.#batchSizes);
  }

  /** The cost that the backend pads a batch to. */
  padded(cost: number): number {
    return paddedTo(this.#batchSizes, cost);
  }

  /** Sets other padded sizes. What was learned does not apply to them. */
  padTo(batchSizes: readonly number[]): void {
    if (batchSizes.join() === this.#batchSizes.join()) return;
    this.#batchSizes = batchSizes;
    this.samples = 0;
    this.#buckets = [];
    this.#variance = 0;
    this.#residuals = 0;
    this.#changes = new ChangeDetector();
    this.#changed();
  }

  /** The coefficient of variation of durations. */
  get variation(): number {
    return Math.sqrt(this.#variance);
  }

  record(itemsCost: number, durationMs: number, now: number): void {
    const cost = this.padded(itemsCost);
    const bucket = this.#bucketFor(cost);
    const ratio = this.#surpriseRatio(bucket, cost, durationMs);
    // A batch that confirms an estimate made by a surprise confirms that surprise.
    const isSecond = ratio === 1 && this.#changes.hasSurprises && bucket.formerMs !== undefined;
    const surprise = isSecond ? durationMs / (bucket.formerMs as number) : ratio;
    const compared = bucket.weight > 0 ? [bucket] : this.#neighbours(bucket);
    const change = this.#changes.observe(bucket, surprise, compared, this.samples, now - durationMs, now);
    if (change !== undefined) this.#rescale(change);
    this.#learn(bucket, cost, durationMs, ratio !== 1);
    this.samples += 1;
    this.updatedAt = now;
    this.#forgetLargest();
    this.#changed();
  }

  /**
   * Records a batch that was abandoned after `elapsedMs`, if that is longer than expected. It may have hung, so one alone
   * at most doubles the estimate; a backend that has become slow is followed in a few steps.
   */
  recordAtLeast(cost: number, elapsedMs: number, now: number): void {
    const expected = this.mean(cost);
    if (expected === undefined) this.record(cost, elapsedMs, now);
    else if (elapsedMs > expected) this.record(cost, Math.min(elapsedMs, 2 * expected), now);
  }

  /** The expected duration of a batch of this cost; undefined before anything was learned. */
  mean(itemsCost: number): number | undefined {
    const points = this.points();
    const first = points[0];
    if (first === undefined) return undefined;
    const cost = this.padded(itemsCost);
    const last = points[points.length - 1] as CurvePoint;
    if (cost <= last.cost) return durationAt(points, cost);
    if (cost === Number.POSITIVE_INFINITY) return last.durationMs;
    // Beyond the largest measured size, the growth that is certain: too low an estimate lets the size be tried and
    // measured, too high a one would keep it from ever being tried.
    const doubt = GROWTH_DOUBT * Math.max(this.variation, LEAST_VARIATION);
    const rise = last.durationMs * (1 - doubt) - first.durationMs * (1 + doubt);
    const slope = first === last ? 0 : Math.max(0, rise / (last.cost - first.cost));
    return last.durationMs + slope * (cost - last.cost);
  }

  /** The mean less one standard deviation: a duration that most batches of this cost exceed. */
  lower(cost: number): number | undefined {
    const mean = this.mean(cost);
    return mean && mean * Math.max(0, 1 - this.variation);
  }

  /** The mean plus one standard deviation: what to count on under a deadline. */
  upper(cost: number): number | undefined {
    const mean = this.mean(cost);
    return mean && mean * (1 + this.variation);
  }

  /** The measured points by rising cost. A larger batch is never quicker. */
  points(): readonly LearnedPoint[] {
    this.#points ??= monotone(this.#buckets);
    return this.#points;
  }

  /** The number of batches behind the estimate for exactly this cost, up to 64. */
  weightOf(cost: number): number {
    const key = keyOf(this.padded(cost));
    const bucket = this.#buckets[this.#placeOf(key)];
    return bucket?.key === key ? bucket.weight : 0;
  }

  /** Whether each slot has run its first batch at most: it may have had something to load or to connect to. */
  isColdStart(slots: number): boolean {
    return this.samples <= slots && this.samples < TRUSTED_SAMPLES;
  }

  /** Whether a batch should check the estimate first: after a cold start, if it is old, or of larger costs only. */
  isUncertain(cost: number, slots: number, now: number): boolean {
    const [smallest] = this.#buckets;
    return (
      this.isColdStart(slots) ||
      now - this.updatedAt >= ESTIMATE_FRESH_MS ||
      smallest === undefined ||
      cost < smallest.cost
    );
  }

  /** Of the costs up to `maxCost` that take no longer than `withinMs`, the one with the highest throughput. */
  bestSize(maxCost: number, withinMs = Number.POSITIVE_INFINITY): CurvePoint | undefined {
    if (this.#bestUpTo !== maxCost) {
      this.#bestUpTo = maxCost;
      this.#best = this.#findBestSize(maxCost);
    }
    if (this.#best === undefined || this.#best.durationMs <= withinMs) return this.#best;
    // The largest measured size that is quick enough, or the smallest. A size that was not measured may be quick enough.
    const points = this.points();
    const largest = points.findLast(({ durationMs }) => durationMs <= withinMs);
    const mayBeQuick = largest === points.at(-1) && this.#best.cost > this.largestCost;
    return mayBeQuick ? this.#best : (largest ?? points[0]);
  }

  /** The cost that a slot can serve per millisecond in batches of that size; undefined while nothing is known. */
  capacityPerMs(maxCost: number): number | undefined {
    const best = this.bestSize(maxCost);
    return best !== undefined && best.durationMs > 0 ? best.cost / best.durationMs : undefined;
  }

  /** The part of the duration of a batch of this cost that does not depend on it; all, until larger ones were measured. */
  fixedPartMs(cost: number): number {
    const ownMs = this.mean(cost) ?? 0;
    const largest = this.points().at(-1);
    if (largest === undefined || largest.cost <= cost) return ownMs;
    return Math.max(0, ownMs - ((largest.durationMs - ownMs) * cost) / (largest.cost - cost));
  }

  /** Costs below `maxCost` at which throughput drops when a little is added: where a padded backend has its steps. */
  steps(maxCost: number): readonly number[] {
    if (this.#batchSizes.length > 0) return this.#batchSizes.filter((size) => size < maxCost);
    this.#steps ??= this.points()
      .filter(({ cost }, i) => Number.isInteger(cost) && this.#isStep(i))
      .map(({ cost }) => cost);
    return this.#steps.filter((size) => size < maxCost);
  }

  /** The largest measured cost. */
  get largestCost(): number {
    return this.#buckets.at(-1)?.cost ?? 0;
  }

  /** The largest size, unless a measured one is certainly better. Without a limit, everything is dispatched at once. */
  #findBestSize(maxCost: number): CurvePoint | undefined {
    const points = this.points();
    const fullMs = this.mean(maxCost === Number.POSITIVE_INFINITY ? this.largestCost : maxCost);
    if (fullMs === undefined) return undefined;
    let best: CurvePoint = { cost: maxCost, durationMs: fullMs };
    if (maxCost === Number.POSITIVE_INFINITY) return best;
    const full = points.filter(({ cost }) => cost > NEARLY_FULL * maxCost);
    const fullWeight = full.reduce((sum, { weight }) => sum + weight, 0);
    // As long as no full batch was measured, a smaller size cannot be known to be better.
    if (fullWeight === 0) return best;
    for (const { cost, durationMs, weight } of points) {
      if (cost >= maxCost) break;
      const gain = 1 + Math.max(MIN_THROUGHPUT_GAIN, this.#doubt(weight, fullWeight));
      const isBetter = cost * fullMs > gain * maxCost * durationMs;
      if (isBetter && cost * best.durationMs > best.cost * durationMs) best = { cost, durationMs };
    }
    return best;
  }

  /** Whether one of the next sizes has clearly less throughput than this one, and none in between more. */
  #isStep(index: number): boolean {
    const points = this.points();
    const { cost, durationMs, weight } = points[index] as LearnedPoint;
    for (let i = index + 1; i < points.length; i++) {
      const next = points[i] as LearnedPoint;
      if (next.cost > STEP_REACH * cost + 1) return false;
      const ratio = (next.cost * durationMs) / (next.durationMs * cost);
      if (ratio > 1) return false;
      if (ratio < 1 - Math.max(MIN_THROUGHPUT_GAIN, this.#doubt(weight, next.weight))) return true;
    }
    return false;
  }

  /** The relative difference of two means of so many batches that may be chance. */
  #doubt(weight: number, otherWeight: number): number {
    return CERTAIN_DEVIATIONS * this.variation * Math.sqrt(1 / weight + 1 / otherWeight);
  }

  /**
   * Duration ÷ expectation if it is far off, else 1. A size that was not measured before is expected between its
   * neighbours; beyond them, durations grow at most in proportion. It may be off by twice as much: real curves are not
   * smooth.
   */
  #surpriseRatio(bucket: Bucket, cost: number, durationMs: number): number {
    let least = bucket.durationMs;
    let most = bucket.durationMs;
    const isNew = bucket.weight === 0;
    if (isNew) {
      const [below, above] = this.#neighbours(bucket);
      least = below?.durationMs ?? (above === undefined ? 0 : (above.durationMs * cost) / above.cost);
      most =
        above?.durationMs ??
        (below === undefined ? Number.POSITIVE_INFINITY : (below.durationMs * cost) / below.cost);
    }
    const tolerance = Math.max(this.#outlier, isNew ? 2 * LEAST_SURPRISE : LEAST_SURPRISE);
    if (durationMs > most * (1 + tolerance) && most > 0) return durationMs / most;
    return durationMs < least * Math.max(1 - tolerance, LEAST_RATIO) ? durationMs / least : 1;
  }

  /**
   * The backend has changed, or the `curve` option was wrong. The shape of the curve is kept, so that nothing has to be
   * explored again.
   */
  #rescale({ factor, isRight }: Change): void {
    // No size takes longer than a larger one that is trusted: errors must not multiply from change to change.
    let mostMs = Number.POSITIVE_INFINITY;
    for (const bucket of this.#buckets.toReversed()) {
      bucket.formerMs = undefined;
      const hasChanged = !isRight(bucket);
      if (hasChanged) bucket.durationMs *= factor;
      if (bucket.weight >= SURE_WEIGHT) mostMs = Math.min(mostMs, bucket.durationMs);
      else bucket.durationMs = Math.min(mostMs, bucket.durationMs);
      if (hasChanged) bucket.weight = Math.min(bucket.weight, SURE_WEIGHT - 1);
    }
  }

  #learn(bucket: Bucket, cost: number, durationMs: number, isSurprise: boolean): void {
    bucket.seenAt = this.samples;
    if (bucket.weight === 0 || (isSurprise && bucket.weight < SURE_WEIGHT)) {
      const isFirst = bucket.weight > 0 && bucket.formerMs === undefined;
      bucket.formerMs = isFirst ? bucket.durationMs : undefined;
      bucket.cost = cost;
      bucket.durationMs = durationMs;
      bucket.weight = 1;
      bucket.since = this.samples;
      return;
    }
    const expected = bucket.durationMs;
    const isTrusted = this.samples >= TRUSTED_SAMPLES && expected > 0;
    const allowed = isTrusted ? this.#outlier * expected : Number.POSITIVE_INFINITY;
    const clipped = Math.min(Math.max(durationMs, expected - allowed), expected + allowed);
    const part = 1 / Math.min(bucket.weight + 1, MEMORY);
    bucket.durationMs += (clipped - expected) * part;
    bucket.cost += (cost - bucket.cost) * part;
    bucket.weight = Math.min(bucket.weight + 1, MEMORY);
    if (bucket.weight > SURE_WEIGHT) bucket.formerMs = undefined;
    if (expected === 0) return;
    const residual = Math.min(1, (clipped - expected) / expected);
    this.#residuals = Math.min(this.#residuals + 1, MEMORY);
    // The expectation is itself a mean of few batches and off by as much more.
    this.#variance += (residual * residual * (1 - part) - this.#variance) / this.#residuals;
  }

  /**
   * Forgets the largest size if it was slower than the others suggest and has not been measured for long, together with
   * those next to it that were hardly measured. Otherwise a slow batch or two would limit the size of batches forever.
   */
  #forgetLargest(): void {
    const isOld = ({ seenAt }: Bucket) => this.samples - seenAt > MEMORY;
    const largest = this.#buckets.at(-1);
    if (largest === undefined || !isOld(largest)) return;
    let from = this.#buckets.length - 1;
    for (
      let next = this.#buckets[from - 1];
      next && next.weight < SURE_WEIGHT && isOld(next);
      next = this.#buckets[from - 1]
    )
      from -= 1;
    const removed = this.#buckets.splice(from);
    this.#changed();
    const expected = this.mean(largest.cost);
    const surprise = removed.length > 1 ? 1 : LEAST_SURPRISE;
    if (expected !== undefined && largest.durationMs > expected * (1 + surprise)) return;
    largest.seenAt = this.samples; // to be checked again
    this.#buckets.push(...removed);
  }

  /** The relative deviation beyond which a duration is an outlier. */
  get #outlier(): number {
    return OUTLIER * Math.max(this.variation, LEAST_VARIATION);
  }

  #changed(): void {
    this.#points = undefined;
    this.#steps = undefined;
    this.#bestUpTo = Number.NaN;
  }

  #neighbours({ key }: Bucket): [Bucket | undefined, Bucket | undefined] {
    const place = this.#placeOf(key);
    return [this.#buckets[place - 1], this.#buckets[place + 1]];
  }

  #bucketFor(cost: number): Bucket {
    const key = keyOf(cost);
    const place = this.#placeOf(key);
    const found = this.#buckets[place];
    if (found?.key === key) return found;
    const { samples } = this;
    const bucket = {
      key,
      cost,
      durationMs: 0,
      weight: 0,
      since: samples,
      seenAt: samples,
      surprises: 0,
      formerMs: undefined,
      isSlower: false,
    };
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
}

function keyOf(cost: number): number {
  if (cost < 1) return Math.floor(PER_DOUBLING * Math.log2(cost));
  return cost <= FINE ? Math.round(cost) : Math.round(FINE + PER_DOUBLING * Math.log2(cost / FINE));
}
