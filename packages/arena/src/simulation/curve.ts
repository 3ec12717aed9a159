/** The true service curve of the simulated backend, which policies have to learn. */
export interface Curve {
  readonly name: string;
  /** The largest batch the backend takes. */
  readonly maxBatchSize: number;
  durationMs(cost: number): number;
}

/** A point of a measured curve. */
export interface MeasuredPoint {
  readonly size: number;
  readonly ms: number;
}

export function formulaCurve(
  name: string,
  maxBatchSize: number,
  durationMs: (cost: number) => number,
): Curve {
  return { name, maxBatchSize, durationMs };
}

/** A curve with `factor` times the durations. */
export function slowedBy(curve: Curve, factor: number): Curve {
  if (factor === 1) return curve;
  const { name, maxBatchSize } = curve;
  return formulaCurve(`${name} × ${factor}`, maxBatchSize, (cost) => factor * curve.durationMs(cost));
}

/** Linear interpolation between measured points. Sizes below the first point take as long as the first point. */
export function tableCurve(name: string, points: readonly MeasuredPoint[], maxBatchSize?: number): Curve {
  const last = points.at(-1);
  if (last === undefined) throw new RangeError(`curve ${name}: a table needs at least one point.`);
  return {
    name,
    maxBatchSize: maxBatchSize ?? last.size,
    durationMs(cost) {
      let left = points[0] as MeasuredPoint;
      if (cost <= left.size) return left.ms;
      for (let i = 1; i < points.length; i++) {
        const right = points[i] as MeasuredPoint;
        if (cost <= right.size) return between(left, right, cost);
        left = right;
      }
      const before = points[points.length - 2];
      return before === undefined ? last.ms : Math.max(last.ms, between(before, last, cost));
    },
  };
}

function between(a: MeasuredPoint, b: MeasuredPoint, cost: number): number {
  return a.ms + ((b.ms - a.ms) * (cost - a.size)) / (b.size - a.size);
}

/**
 * Isotonic regression of the points: points that decrease are pooled. A larger batch that is quicker than a smaller
 * one is measurement noise, on which policies should not be compared.
 */
export function monotone(points: readonly MeasuredPoint[]): MeasuredPoint[] {
  const pools: { ms: number; sizes: number[] }[] = [];
  for (const { size, ms } of points) {
    let pool = { ms, sizes: [size] };
    for (let last = pools.at(-1); last !== undefined && last.ms > pool.ms; last = pools.at(-1)) {
      const sizes = [...last.sizes, ...pool.sizes];
      pool = { ms: (last.ms * last.sizes.length + pool.ms * pool.sizes.length) / sizes.length, sizes };
      pools.pop();
    }
    pools.push(pool);
  }
  return pools.flatMap(({ ms, sizes }) => sizes.map((size) => ({ size, ms })));
}

/** The duration of every whole size, as the `curve` option of a batcher takes it. */
export function curvePoints(curve: Curve): { readonly cost: number; readonly durationMs: number }[] {
  return Array.from({ length: curve.maxBatchSize }, (_, i) => ({
    cost: i + 1,
    durationMs: curve.durationMs(i + 1),
  }));
}

/** The smallest batch size, up to `most`, with which so many slots keep up with the arrivals; otherwise `most`. */
export function steadyBatchSize(
  curve: Curve,
  slots: number,
  perMs: number,
  most = curve.maxBatchSize,
): number {
  let size = 1;
  while (size < most && perMs * curve.durationMs(size) > size * slots) size += 1;
  return size;
}

/** The maximum throughput of one slot, in items per millisecond, and the batch size that reaches it. */
export function capacity(curve: Curve): { readonly size: number; readonly perMs: number } {
  let best = { size: 1, perMs: 0 };
  for (let size = 1; size <= curve.maxBatchSize; size++) {
    const perMs = size / curve.durationMs(size);
    if (perMs > best.perMs) best = { size, perMs };
  }
  return best;
}
