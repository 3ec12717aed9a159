/** The arithmetic of a service curve: points of rising cost, interpolation between them, padding. */
import { SURE_WEIGHT } from './bucket.js';

export interface CurvePoint {
  readonly cost: number;
  readonly durationMs: number;
}

export interface LearnedPoint extends CurvePoint {
  /** The number of batches behind the estimate, up to 64. */
  readonly weight: number;
}

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
    let pool = { durationMs, weight, isTrusted: weight >= SURE_WEIGHT, size: 1 };
    for (let last = pools.at(-1); last && last.durationMs > pool.durationMs; last = pools.at(-1)) {
      const total = last.weight + pool.weight;
      const sum = last.durationMs * last.weight + pool.durationMs * pool.weight;
      pool = {
        durationMs: pool.isTrusted && !last.isTrusted ? pool.durationMs : sum / total,
        weight: total,
        isTrusted: pool.isTrusted || last.isTrusted,
        size: last.size + pool.size,
      };
      pools.pop();
    }
    pools.push(pool);
  }
  const durations = pools.flatMap(({ durationMs, size }) => Array<number>(size).fill(durationMs));
  return points.map(({ cost, weight }, i) => ({ cost, durationMs: durations[i] as number, weight }));
}

/** The smallest of the sizes that holds this cost; beyond the largest, the cost itself. */
export function paddedTo(batchSizes: readonly number[], cost: number): number {
  return batchSizes.find((size) => size >= cost) ?? cost;
}
