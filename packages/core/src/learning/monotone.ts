import type { LearnedPoint } from './service-curve.js';

/** The same points, but a larger batch never quicker: neighbours out of order are pooled (isotonic regression). */
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
      pool = {
        durationMs: (last.durationMs * last.weight + pool.durationMs * pool.weight) / total,
        weight: total,
        size: last.size + pool.size,
      };
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
