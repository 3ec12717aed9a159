/**
 * An upper bound on the goodput of any number of slots: the fluid limit, one server that serves items one at a time
 * at the maximum throughput of all slots.
 *
 * A batch of b occupies its slot for T(b), in which this server serves at least b items, so the server can do
 * whatever the slots can. The bound is loose because the server reaches the maximum throughput without batches. It
 * is exact for this server: all targets are equal, so serving in order of arrival and dropping late items is optimal.
 */
import { type Curve, capacity } from '../simulation/curve.js';
import { allowedMs } from '../simulation/measures.js';

/** The upper bound, as a share of all items. `arrivedAt` in ascending order. */
export function fluidGoodput(
  arrivedAt: ArrayLike<number>,
  curve: Curve,
  slots: number,
  targetLatencyMs: number,
): number {
  const items = arrivedAt.length;
  if (items === 0) return 1;
  const latencyLimitMs = allowedMs(targetLatencyMs);
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
