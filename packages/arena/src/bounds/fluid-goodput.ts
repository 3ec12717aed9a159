/**
 * More than any number of slots can answer within the target: the slots are thought of as one server
 * that takes items singly, each in the time that it takes at the quickest rate of the curve.
 *
 * A batch of b keeps its slot for T(b), in which that server could do all b, so it can do whatever the
 * slots can. Loose, because it needs no company to be quick. Exact for that server: targets are equal, so
 * to serve in the order of arrival and to drop whoever would be late (a later one in its place would end
 * no earlier) makes every number of answers as soon as it can be made.
 */
import { type Curve, capacity } from '../simulation/curve.js';
import { allowedMs } from '../simulation/measures.js';

/** The share of items on time, at most. `arrivedAt` in rising order. */
export function fluidGoodput(
  arrivedAt: ArrayLike<number>,
  curve: Curve,
  slots: number,
  targetMs: number,
): number {
  const items = arrivedAt.length;
  if (items === 0) return 1;
  const latencyLimitMs = allowedMs(targetMs);
  if (shortestMs(curve) > latencyLimitMs) return 0;
  const itemMs = 1 / (slots * capacity(curve).perMs);
  let freeAt = Number.NEGATIVE_INFINITY;
  let onTime = 0;
  for (let i = 0; i < items; i++) {
    const at = arrivedAt[i] as number;
    const endsAt = Math.max(freeAt, at) + itemMs;
    if (endsAt > at + latencyLimitMs) continue;
    freeAt = endsAt;
    onTime += 1;
  }
  return onTime / items;
}

function shortestMs(curve: Curve): number {
  let least = Number.POSITIVE_INFINITY;
  for (let size = 1; size <= curve.maxBatchSize; size++) least = Math.min(least, curve.durationMs(size));
  return least;
}
