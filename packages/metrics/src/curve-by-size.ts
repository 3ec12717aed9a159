import type { CurvePoint } from 'batchwise';

/**
 * The learned curve at the bounds of the batch-size histogram: for each bucket what is known of the largest
 * batch in it. Nothing is made up for buckets of which nothing is known: they are undefined.
 */
export function curveBySize(
  curve: readonly CurvePoint[],
  bounds: readonly number[],
): readonly (number | undefined)[] {
  const bySize = new Array<number | undefined>(bounds.length).fill(undefined);
  for (const { cost, durationMs } of curve) {
    const bucket = bounds.findIndex((bound) => cost <= bound);
    // Rising, so the last of a bucket is the largest. What is above all bounds, from before they were lowered, is gone.
    if (bucket !== -1) bySize[bucket] = durationMs;
  }
  return bySize;
}
