/** Durations by batch size, for the bounds that rest on a larger batch never being quicker. */
import type { Curve } from '../simulation/curve.js';

/** By size from 1; 0 at size 0. */
export function risingDurations(curve: Curve): Float64Array {
  const { name, maxBatchSize } = curve;
  const durations = new Float64Array(maxBatchSize + 1);
  for (let size = 1; size <= maxBatchSize; size++) {
    durations[size] = curve.durationMs(size);
    if ((durations[size] as number) >= (durations[size - 1] as number)) continue;
    throw new RangeError(`Curve ${name}: a batch of ${size} is quicker than one of ${size - 1}.`);
  }
  return durations;
}

/** Of the times at which batches end; the measures allow the same, because sums of fractions are off by a hair. */
export const TARGET_TOLERANCE = 1e-9;
