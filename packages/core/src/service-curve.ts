/**
 * The learned service curve: how long a batch of a given cost takes. A table of what was seen, not a
 * line through it, because real curves are flat and then linear, stepped, or worse past some size.
 */
export interface CurveEstimate {
  /** The expected duration of a batch of this cost; undefined before anything was learned. */
  predict(cost: number): number | undefined;
  /** The cost up to `maxCost` at which the backend gets most done per millisecond. */
  best(maxCost: number): CurvePoint | undefined;
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

/** All batches of about one cost. */
interface Bucket {
  readonly key: number;
  cost: number;
  durationMs: number;
  weight: number;
  /** How many in a row were far off, all on the same side, and by how much the least of them was. */
  surprises: number;
  leastOff: number;
}

/** How many batches a mean remembers, so that it follows a backend that changes. */
const MEMORY = 64;
/** From how many batches on the spread is trusted enough to cut outliers by it. */
const TRUSTED_SAMPLES = 8;
const OUTLIER_SPREADS = 4;
/** So steady is no clock. */
const LEAST_SPREAD = 0.02;
/** One that is far off is an outlier; so many in a row are a backend that has changed. */
const MOST_SURPRISES = 3;

export class ServiceCurve implements CurveEstimate {
  samples = 0;
  updatedAt = Number.NEGATIVE_INFINITY;
  readonly #buckets: Bucket[] = [];
  #variance = 0;
  /** The buckets made monotone; undefined when something was learned since. */
  #points: CurvePoint[] | undefined;
  /** The answer to the latest question for the best, until something was learned. */
  #best: CurvePoint | undefined;
  #bestUpTo = 0;

  get spread(): number {
    return Math.sqrt(this.#variance);
  }

  record(cost: number, durationMs: number, now: number): void {
    const bucket = this.#bucketFor(cost);
    const wasColdStart = bucket.weight < TRUSTED_SAMPLES && durationMs * 2 < bucket.durationMs;
    if (bucket.weight === 0 || wasColdStart) {
      bucket.cost = cost;
      bucket.durationMs = durationMs;
      bucket.weight = 1;
    } else if (this.#hasChanged(bucket, durationMs)) this.#rescale(1 + bucket.leastOff / bucket.durationMs);
    else this.#average(bucket, cost, durationMs);
    this.samples += 1;
    this.updatedAt = now;
    this.#points = undefined;
    this.#best = undefined;
  }

  /** Counts durations in a row that are far off on the same side, and keeps the one that is least so. */
  #hasChanged(bucket: Bucket, durationMs: number): boolean {
    const off = durationMs - bucket.durationMs;
    if (Math.abs(off) <= this.#allowed(bucket)) {
      bucket.surprises = 0;
      return false;
    }
    if (bucket.surprises > 0 && Math.sign(bucket.leastOff) === Math.sign(off)) bucket.surprises += 1;
    else bucket.surprises = 1;
    if (bucket.surprises === 1 || Math.abs(off) < Math.abs(bucket.leastOff)) bucket.leastOff = off;
    return bucket.surprises >= MOST_SURPRISES;
  }

  /** The backend has changed: what was learned at other sizes is taken to have changed alike, and to be checked. */
  #rescale(factor: number): void {
    for (const bucket of this.#buckets) {
      bucket.durationMs *= factor;
      bucket.weight = 1;
      bucket.surprises = 0;
    }
  }

  #average(bucket: Bucket, cost: number, durationMs: number): void {
    const expected = bucket.durationMs;
    const allowed = this.#allowed(bucket);
    const clipped = Math.min(Math.max(durationMs, expected - allowed), expected + allowed);
    const part = 1 / Math.min(bucket.weight + 1, MEMORY);
    bucket.durationMs += (clipped - expected) * part;
    bucket.cost += (cost - bucket.cost) * part;
    bucket.weight = Math.min(bucket.weight + 1, MEMORY);
    if (expected === 0) return;
    const residual = (clipped - expected) / expected;
    this.#variance += (residual * residual - this.#variance) / Math.min(this.samples, MEMORY);
  }

  /** How far a duration may be off what is expected before it counts as an outlier. */
  #allowed({ durationMs }: Bucket): number {
    if (this.samples < TRUSTED_SAMPLES || durationMs === 0) return Number.POSITIVE_INFINITY;
    return OUTLIER_SPREADS * Math.max(this.spread, LEAST_SPREAD) * durationMs;
  }

  predict(cost: number): number | undefined {
    const points = this.#monotonePoints();
    const first = points[0];
    if (first === undefined) return undefined;
    if (cost <= first.cost) return first.durationMs;
    for (let i = 1; i < points.length; i++) {
      const right = points[i] as CurvePoint;
      if (cost <= right.cost) return onLine(points[i - 1] as CurvePoint, right, cost);
    }
    // Beyond what was seen: along the last slope. With a single point, flat: better to let a few too
    // many in and learn than to refuse for want of knowledge.
    const last = points[points.length - 1] as CurvePoint;
    const lastButOne = points[points.length - 2];
    return lastButOne === undefined ? last.durationMs : onLine(lastButOne, last, cost);
  }

  best(maxCost: number): CurvePoint | undefined {
    if (this.#best !== undefined && this.#bestUpTo === maxCost) return this.#best;
    this.#bestUpTo = maxCost;
    this.#best = this.#findBest(maxCost);
    return this.#best;
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
      if (point.cost <= maxCost && point.cost * best.durationMs > best.cost * point.durationMs) best = point;
    }
    return best;
  }

  #bucketFor(cost: number): Bucket {
    // Small costs each their own, larger ones eight to a doubling.
    const key = cost <= 16 ? Math.round(cost) : Math.round(16 + 8 * Math.log2(cost / 16));
    let low = 0;
    let high = this.#buckets.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#buckets[middle] as Bucket).key < key) low = middle + 1;
      else high = middle;
    }
    const found = this.#buckets[low];
    if (found?.key === key) return found;
    const bucket = { key, cost, durationMs: 0, weight: 0, surprises: 0, leastOff: 0 };
    this.#buckets.splice(low, 0, bucket);
    return bucket;
  }

  /** A larger batch never counts as quicker: neighbours out of order are pooled (isotonic regression). */
  #monotonePoints(): readonly CurvePoint[] {
    if (this.#points !== undefined) return this.#points;
    const pools: { durationMs: number; weight: number; buckets: number }[] = [];
    for (const { durationMs, weight } of this.#buckets) {
      let pool = { durationMs, weight, buckets: 1 };
      for (
        let last = pools.at(-1);
        last !== undefined && last.durationMs > pool.durationMs;
        last = pools.at(-1)
      ) {
        const total = last.weight + pool.weight;
        pool = {
          durationMs: (last.durationMs * last.weight + pool.durationMs * pool.weight) / total,
          weight: total,
          buckets: last.buckets + pool.buckets,
        };
        pools.pop();
      }
      pools.push(pool);
    }
    const points: CurvePoint[] = [];
    for (const { durationMs, buckets } of pools) {
      for (let i = 0; i < buckets; i++) {
        points.push({ cost: (this.#buckets[points.length] as Bucket).cost, durationMs });
      }
    }
    this.#points = points;
    return points;
  }
}

function onLine(a: CurvePoint, b: CurvePoint, cost: number): number {
  return a.durationMs + ((b.durationMs - a.durationMs) * (cost - a.cost)) / (b.cost - a.cost);
}
