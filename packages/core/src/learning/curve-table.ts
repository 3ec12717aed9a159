/** The arithmetic of a service curve: points of rising cost, interpolation between them, padding. */

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

/** The same points with durations that never fall: neighbours out of order are averaged (isotonic regression). */
export function monotone(points: readonly LearnedPoint[]): LearnedPoint[] {
  const pools: { durationMs: number; weight: number; size: number }[] = [];
  for (const { durationMs, weight } of points) {
    let pool = { durationMs, weight, size: 1 };
    for (
      let last = pools.at(-1);
      last !== undefined && last.durationMs > pool.durationMs;
      last = pools.at(-1)
    ) {
      const total = last.weight + pool.weight;
      const sum = last.durationMs * last.weight + pool.durationMs * pool.weight;
      pool = { durationMs: sum / total, weight: total, size: last.size + pool.size };
      pools.pop();
    }
    pools.push(pool);
  }
  const pooled: LearnedPoint[] = [];
  for (const { durationMs, size } of pools) {
    for (let i = 0; i < size; i++) {
      const { cost, weight } = points[pooled.length] as LearnedPoint;
      pooled.push({ cost, durationMs, weight });
    }
  }
  return pooled;
}

/** The smallest of the sizes that holds this cost; beyond the largest, the cost itself. */
export function paddedTo(batchSizes: readonly number[], cost: number): number {
  let low = 0;
  let high = batchSizes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((batchSizes[middle] as number) < cost) low = middle + 1;
    else high = middle;
  }
  return batchSizes[low] ?? cost;
}
