/**
 * The most items that one slot can answer within the target by anybody who knew all arrivals beforehand.
 *
 * Targets are equal, so items may be taken in the order of arrival: give the items of all batches out
 * anew, earliest items to the earliest batch, and every batch still has its size, its items arrived no
 * later and its most pressing deadline is no earlier than that of the item it had before. And what is
 * dropped may stand before a batch, never inside: trade an item dropped between two of a batch for the
 * batch's first, and the batch's most pressing deadline can only move away. So a plan is a row of
 * drops and of batches that are runs of consecutive items.
 *
 * Of the plans for the first i items, what follows depends on when the slot is free alone. A plan with
 * no fewer drops that frees the slot no earlier than another can be left: whatever follows it can follow
 * the other, at the same times. And two that free the slot before the next item comes are equal in that.
 */
import type { Curve } from '../simulation/curve.js';
import { allowedMs } from '../simulation/measures.js';

export interface GoodputOptimum {
  /** How many items are answered in time. */
  readonly onTime: number;
  /** Their share of all; 1 when there are none. */
  readonly goodput: number;
}

/** The plans worth keeping for some first items: by drops, from `fewestDrops`, when the slot is free. */
interface Front {
  readonly fewestDrops: number;
  /** Never rising: one more drop is kept only while it may bring the slot forward. */
  readonly freeAt: Float64Array;
}

/** `arrivedAt` in rising order; `freeFrom` is when the slot is free for the first time. */
export function goodputOptimum(
  arrivedAt: ArrayLike<number>,
  curve: Curve,
  targetMs: number,
  maxBatchSize = curve.maxBatchSize,
  freeFrom = Number.NEGATIVE_INFINITY,
): GoodputOptimum {
  const items = arrivedAt.length;
  // Else overload would keep a plan for every number of drops.
  if (targetMs === Number.POSITIVE_INFINITY) return { onTime: items, goodput: 1 };
  const durations = risingDurations(curve).subarray(0, maxBatchSize + 1);
  const latencyLimitMs = allowedMs(targetMs);
  /** The fronts of the last `maxBatchSize` + 1 items, in a ring. */
  const nothingDone: Front = { fewestDrops: 0, freeAt: Float64Array.of(freeFrom) };
  const ring = Array.from({ length: maxBatchSize + 1 }, () => nothingDone);
  /** By drops: the earliest that the slot is free; Infinity between the items. */
  const earliest = new Float64Array(items + 2).fill(Number.POSITIVE_INFINITY);

  for (let done = 1; done <= items; done++) {
    const startable = arrivedAt[done - 1] as number;
    const before = ring[(done - 1) % ring.length] as Front;
    const lowest = before.fewestDrops;
    // The last plan of every front frees the slot before the next item comes, or has dropped everybody.
    // With that item dropped it is dominated by no batch, and dominates all that have more drops.
    const highest = lowest + before.freeAt.length;
    earliest.set(before.freeAt, lowest + 1);

    for (let size = 1; size <= Math.min(maxBatchSize, done); size++) {
      const durationMs = durations[size] as number;
      const latestStart = (arrivedAt[done - size] as number) + latencyLimitMs - durationMs;
      if (startable > latestStart) break; // and so it is for all that reach further back
      const { fewestDrops, freeAt } = ring[(done - size) % ring.length] as Front;
      const end = Math.min(freeAt.length, highest - fewestDrops);
      for (let i = firstAtMost(freeAt, latestStart); i < end; i++) {
        const free = freeAt[i] as number;
        const endsAt = Math.max(free, startable) + durationMs;
        const drops = fewestDrops + i;
        if (endsAt < (earliest[drops] as number)) earliest[drops] = endsAt;
        if (free <= startable) break; // an earlier slot would wait for the batch's last item as well
      }
    }
    ring[done % ring.length] = takeFront(earliest, lowest, highest, arrivedAt[done]);
  }
  const drops = (ring[items % ring.length] as Front).fewestDrops;
  return { onTime: items - drops, goodput: items === 0 ? 1 : (items - drops) / items };
}

/** The index of the first number that is at most `limit` in a row that never rises. */
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

/** What is not dominated between `lowest` and `highest`, which it leaves empty for the next item. */
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
