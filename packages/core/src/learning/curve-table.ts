/** The table of a service curve: what it keeps of each cost, and interpolation between points. */

/** What a service curve keeps of one batch cost. */
export interface Bucket {
  readonly key: number;
  cost: number;
  durationMs: number;
  weight: number;
  /** The value of `samples` when the estimate was made, and when a batch of this cost was last recorded. */
  since: number;
  seenAt: number;
  /** Surprising batches of this cost in a row, all slower or all quicker. */
  surprises: number;
  isSlower: boolean;
  /** The estimate before a surprising batch replaced it. */
  formerMs: number | undefined;
}

export interface CurvePoint {
  readonly cost: number;
  readonly durationMs: number;
}

export interface LearnedPoint extends CurvePoint {
  /** The number of batches behind the estimate, up to 64. */
  readonly weight: number;
}

/** Batches that an estimate remembers, so that it follows a backend that changes. */
export const MEMORY = 64;
/** Batches after which the estimate of a size is trusted: a single outlier no longer replaces it. */
export const SURE_WEIGHT = 3;
/** Batches after which a curve knows how much durations vary. */
export const TRUSTED_SAMPLES = 8;
/** Batches after which the curve is worth acting on. */
export const LEARNED_BATCHES = 16;

/** The duration of a batch of this cost, interpolated between points; beyond the first and last, theirs. */
export function durationAt(points: readonly CurvePoint[], cost: number): number {
  let low = 0;
  let high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((points[middle] as CurvePoint).cost < cost) low = middle;
    else high = middle;
  }
  const a = points[low] as CurvePoint;
  const b = points[high] as CurvePoint;
  if (cost <= a.cost || a === b) return a.durationMs;
  if (cost >= b.cost) return b.durationMs;
  return a.durationMs + ((b.durationMs - a.durationMs) * (cost - a.cost)) / (b.cost - a.cost);
}

/**
 * The same points with durations that never fall: neighbours out of order are averaged (isotonic regression). Smaller
 * sizes that are hardly measured do not count next to a larger one that is trusted.
 */
export function monotone(points: readonly LearnedPoint[]): LearnedPoint[] {
  const pools: { durationMs: number; weight: number; isTrusted: boolean; size: number }[] = [];
  for (const { durationMs, weight } of points) {
    const pool = { durationMs, weight, isTrusted: weight >= SURE_WEIGHT, size: 1 };
    for (let last = pools.at(-1); last && last.durationMs > pool.durationMs; last = pools.at(-1)) {
      const total = last.weight + pool.weight;
      if (last.isTrusted || !pool.isTrusted)
        pool.durationMs = (last.durationMs * last.weight + pool.durationMs * pool.weight) / total;
      pool.isTrusted ||= last.isTrusted;
      pool.weight = total;
      pool.size += last.size;
      pools.pop();
    }
    pools.push(pool);
  }
  const rising: LearnedPoint[] = [];
  for (const { durationMs, size } of pools) {
    for (const { cost, weight } of points.slice(rising.length, rising.length + size))
      rising.push({ cost, durationMs, weight });
  }
  return rising;
}

/** The smallest of the sizes that holds this cost; beyond the largest, the cost itself. */
export function paddedTo(batchSizes: readonly number[], cost: number): number {
  return batchSizes.find((size) => size >= cost) ?? cost;
}
