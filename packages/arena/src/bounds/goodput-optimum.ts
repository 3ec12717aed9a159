/**
 * The clairvoyant optimum: the most items that one slot can serve within the target, with all arrivals known in
 * advance. By dynamic programming.
 *
 * Targets are equal, so items can be served in order of arrival: exchange items between batches until earlier items
 * are in earlier batches. Sizes stay, no batch starts before its items have arrived, and no earliest deadline of a
 * batch moves forward. A dropped item is never inside a batch: exchange it with the first item of the batch, and the
 * earliest deadline of the batch moves back. So a schedule is a sequence of drops and of batches of consecutive items.
 *
 * The schedules of the first i items differ only in their drops and in when the slot becomes free. A schedule that is
 * no better than another one in both is dominated. All end times before the next arrival are equivalent.
 */
import type { Curve } from '../simulation/curve.js';
import { allowedMs } from '../simulation/measures.js';

export interface GoodputOptimum {
  /** Items served within the target. */
  readonly onTime: number;
  /** The share of all items; 1 when there are none. */
  readonly goodput: number;
}

/** The schedules that are not dominated: the time at which the slot becomes free, by number of drops. */
interface Front {
  readonly fewestDrops: number;
  /** From `fewestDrops` drops on; never rising, because a drop is useful only if the slot becomes free earlier. */
  readonly freeAt: Float64Array;
}

/** `arrivedAt` in ascending order; `freeFrom` is the time at which the slot becomes free for the first time. */
export function goodputOptimum(
  arrivedAt: ArrayLike<number>,
  curve: Curve,
  targetLatencyMs: number,
  maxBatchSize = curve.maxBatchSize,
  freeFrom = Number.NEGATIVE_INFINITY,
): GoodputOptimum {
  const items = arrivedAt.length;
  // Otherwise, under overload, there would be a schedule for every number of drops.
  if (targetLatencyMs === Number.POSITIVE_INFINITY) return { onTime: items, goodput: 1 };
  const durations = risingDurations(curve).subarray(0, maxBatchSize + 1);
  const latencyLimitMs = allowedMs(targetLatencyMs);
  const emptySchedule: Front = { fewestDrops: 0, freeAt: Float64Array.of(freeFrom) };
  /** The fronts of the last `maxBatchSize` + 1 items. */
  const ring = Array.from({ length: maxBatchSize + 1 }, () => emptySchedule);
  /** By drops: the earliest time at which the slot becomes free; all Infinity between two items. */
  const earliest = new Float64Array(items + 2).fill(Number.POSITIVE_INFINITY);

  for (let done = 1; done <= items; done++) {
    const startable = arrivedAt[done - 1] as number;
    const before = ring[(done - 1) % ring.length] as Front;
    const lowest = before.fewestDrops;
    // In the last schedule of every front the slot is free before the next arrival, or all items are dropped. With the
    // next item dropped, it dominates all schedules with more drops.
    const highest = lowest + before.freeAt.length;
    earliest.set(before.freeAt, lowest + 1);

    for (let size = 1; size <= Math.min(maxBatchSize, done); size++) {
      const durationMs = durations[size] as number;
      const latestStart = (arrivedAt[done - size] as number) + latencyLimitMs - durationMs;
      if (startable > latestStart) break; // as for all batches that begin with an earlier item
      const { fewestDrops, freeAt } = ring[(done - size) % ring.length] as Front;
      const end = Math.min(freeAt.length, highest - fewestDrops);
      for (let i = firstAtMost(freeAt, latestStart); i < end; i++) {
        const free = freeAt[i] as number;
        const endsAt = Math.max(free, startable) + durationMs;
        const drops = fewestDrops + i;
        if (endsAt < (earliest[drops] as number)) earliest[drops] = endsAt;
        if (free <= startable) break; // a slot that is free earlier waits for the last item of the batch as well
      }
    }
    ring[done % ring.length] = takeFront(earliest, lowest, highest, arrivedAt[done]);
  }
  const drops = (ring[items % ring.length] as Front).fewestDrops;
  return { onTime: items - drops, goodput: items === 0 ? 1 : (items - drops) / items };
}

/** The index of the first number that is at most `limit` in a row in descending order. */
function firstAtMost(row: Float64Array, limit: number): number {
  let low = 0;
  let high = row.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((row[middle] as number) <= limit) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** The schedules between `lowest` and `highest` drops that are not dominated. Clears `earliest` for the next item. */
function takeFront(
  earliest: Float64Array,
  lowest: number,
  highest: number,
  nextArrivesAt = Number.POSITIVE_INFINITY,
): Front {
  let fewestDrops = lowest;
  while (earliest[fewestDrops] === Number.POSITIVE_INFINITY) fewestDrops += 1;
  let end = fewestDrops;
  let best = Number.POSITIVE_INFINITY;
  while (end <= highest && best > nextArrivesAt) {
    best = Math.min(best, earliest[end] as number);
    earliest[end] = best;
    end += 1;
  }
  const freeAt = earliest.slice(fewestDrops, end);
  earliest.fill(Number.POSITIVE_INFINITY, lowest, highest + 1);
  return { fewestDrops, freeAt };
}

/** Durations by batch size. @throws RangeError when a larger batch is quicker: the bounds assume that none is. */
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
