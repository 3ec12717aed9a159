import type { CurvePoint } from 'batchwise';

/**
 * The service curve at the bounds of the batch-size histogram: for each bucket the duration of the largest known
 * batch. Undefined for buckets without data.
 */
export function curveBySize(
  curve: readonly CurvePoint[],
  bounds: readonly number[],
): readonly (number | undefined)[] {
  const bySize = new Array<number | undefined>(bounds.length).fill(undefined);
  for (const { cost, durationMs } of curve) {
    const bucket = bounds.findIndex((bound) => cost <= bound);
    // The curve is ascending, so the last point of a bucket is the largest. Points above all bounds are dropped; they
    // are from before the bounds were lowered.
    if (bucket !== -1) bySize[bucket] = durationMs;
  }
  return bySize;
}
