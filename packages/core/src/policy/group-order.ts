/**
 * Which group is next when not all groups can be served in time. The oldest group is often a small one, and in the order
 * of age the slots would run small batches. So a group that can wait is left to grow, and of the groups that cannot, the
 * one with the highest throughput is next.
 */
import type { WaitingGroup } from './policy.js';

/** The position of the next group; the first is the next by age. */
export function nextGroup(groups: readonly WaitingGroup[], slots: number, now: number): number {
  const batchMs = groups.map(({ cost, curve }) => curve.upper(cost) ?? 0);
  const meanMs = batchMs.reduce((sum, ms) => sum + ms, 0) / groups.length;
  // More groups than slots become due at about the same time: by chance, √slots more.
  const delayMs = meanMs / Math.sqrt(slots);
  let next = 0;
  let most = 0;
  for (const [position, { cost, deadline }] of groups.entries()) {
    // Its oldest item can only be rejected, which takes no slot.
    if (deadline < now) return position;
    const ms = batchMs[position] as number;
    if (deadline - now > ms + delayMs || cost / ms <= most) continue;
    most = cost / ms;
    next = position;
  }
  return next;
}
