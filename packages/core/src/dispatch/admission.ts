/**
 * Admission control: predicts when a new item would be answered, from the learned curve and the work ahead of it, so
 * that an item which cannot be in time is rejected at once and not after a wait. It admits in doubt, because the policy
 * decides again when the batch is formed.
 */
import {
  type CurveEstimate,
  type CurvePoint,
  ESTIMATE_FRESH_MS,
  isKnown,
} from '../learning/service-curve.js';
import type { TrafficEstimate } from '../learning/traffic.js';
import { type RunningWork, remainingMs } from '../policy/policy.js';
import type { Ahead } from '../queue/item-queue.js';

/** What a prediction reads of a batcher: its slots, the batches in them, and what was learned. */
export interface Capacity {
  readonly settings: { readonly maxBatchSize: number; readonly targetLatencyMs: number };
  readonly placement: {
    readonly slots: number;
    readonly freeSlots: number;
    readonly inSlots: readonly RunningWork[];
  };
  readonly curve: CurveEstimate;
  readonly traffic: TrafficEstimate;
}

interface Prediction {
  /** The expected latency of the item. */
  readonly latencyMs: number;
  /** When to try again if that is too long. */
  readonly retryAfterMs: number;
}

/** The share of the best batch's duration over which retries of rejected items are spread. */
const RETRY_SPREAD = 1 / 8;

/** How many times the predicted time an item must have, to be admitted without a closer look. */
export const AMPLE = 2;

/** Whether there is time for twice the work ahead, so that no prediction is needed: the case of most items. */
export function hasTimeEnough(
  cost: number,
  ahead: Omit<Ahead, 'oldestAt'>,
  allowedMs: number,
  { curve, settings }: Capacity,
): boolean {
  if (!isKnown(curve)) return true;
  const best = curve.bestSize(settings.maxBatchSize);
  // The running batch, the work ahead, and the item's own batch.
  const batches = 2 + ahead.groups + (ahead.groupsCost + ahead.cost + cost) / best.cost;
  return AMPLE * batches * curve.upper(best.cost) <= allowedMs;
}

/**
 * When an item of this cost is answered if `ahead` is served before it; undefined as long as nothing is known. `own` is
 * what is known of its group.
 */
export function predict(
  cost: number,
  ahead: Ahead,
  allowedMs: number,
  capacity: Capacity,
  now: number,
  own: Pick<Capacity, 'curve' | 'traffic'> = capacity,
): Prediction | undefined {
  const { curve, settings } = capacity;
  const { maxBatchSize, targetLatencyMs } = settings;
  const ownCurve = own.curve;
  if (!isKnown(curve) || !isKnown(ownCurve)) return undefined;
  const aloneMs = ownCurve.mean(cost);
  const best = curve.bestSize(maxBatchSize);
  const exceedsLimitAlone = aloneMs > allowedMs;
  // With time for two full batches, an item can wait for one and be served in the next. With less time, the policy makes
  // smaller batches, for which the oldest item has time, unless that item is late in any case.
  const oldestMs = ahead.oldestAt + targetLatencyMs - now - freeSlotAfterMs(capacity, now, 0);
  const isCut = 2 * best.durationMs > allowedMs && aloneMs <= oldestMs;
  const withinMs = isCut ? Math.min(allowedMs, oldestMs) : allowedMs;
  const batch = curve.bestSize(maxBatchSize, exceedsLimitAlone ? undefined : withinMs);
  const startMs = startsAfterMs(ahead, batch, capacity, now);
  const partial = batch.cost === Number.POSITIVE_INFINITY ? ahead.cost : ahead.cost % batch.cost;
  // Items that arrive until the batch starts make it longer.
  const arriving = own.traffic.steadyCostPerMs(now) * startMs;
  const ownCost = Math.max(cost, Math.min(batch.cost, partial + arriving + cost));
  // The lower bound admits in doubt: with durations that vary, many of the batches predicted to be late are not.
  const ownMs = ownCurve.lower(ownCost);
  const latencyMs = startMs + ownMs;
  const retryAfterMs = Math.max(0, latencyMs - allowedMs) + RETRY_SPREAD * best.durationMs;
  // Too slow even with an empty queue: until the estimate is old enough to be checked.
  return {
    latencyMs,
    retryAfterMs: roundedUp(exceedsLimitAlone ? latencyMs + ESTIMATE_FRESH_MS : retryAfterMs),
  };
}

/**
 * The work ahead of an item if the policy chooses between groups: when its batch is due, it is before the other groups of
 * its tenant if it has a higher throughput than they have now. With all of them ahead, the item would be rejected, and
 * the batches of its group would never grow.
 */
export function aheadByThroughput(
  cost: number,
  ahead: Ahead,
  allowedMs: number,
  { maxBatchSize, targetLatencyMs }: Capacity['settings'],
  { curve, traffic }: Pick<Capacity, 'curve' | 'traffic'>,
  ownGroups: number,
  now: number,
): Ahead {
  if (ahead.groups === 0) return ahead;
  const durationMs = (size: number) => curve.mean(size) as number;
  const queued = ahead.cost + cost;
  const dueAfterMs = Math.min(allowedMs, ahead.oldestAt + targetLatencyMs - now) - durationMs(queued);
  const arriving = traffic.costPerMs(now) * Math.max(0, dueAfterMs);
  const size = Math.min(maxBatchSize, queued + arriving);
  const otherSize = Math.min(maxBatchSize, ahead.groupsCost / ahead.groups);
  if (size * durationMs(otherSize) <= otherSize * durationMs(size)) return ahead;
  const groups = Math.max(0, ahead.groups - ownGroups);
  return { ...ahead, groups, groupsCost: (ahead.groupsCost * groups) / ahead.groups };
}

/** How long until there is room again in a full queue. */
export function roomAfterMs(capacity: Capacity, now: number): number {
  const best = capacity.curve.bestSize(capacity.settings.maxBatchSize);
  if (best === undefined) return ESTIMATE_FRESH_MS;
  return roundedUp(freeSlotAfterMs(capacity, now, 0) + best.durationMs / capacity.placement.slots);
}

/** When the batch starts that has room for one more item after those ahead. */
function startsAfterMs(ahead: Ahead, best: CurvePoint, capacity: Capacity, now: number): number {
  const { slots } = capacity.placement;
  const fullBatches = Math.floor(ahead.cost / best.cost);
  // Each group is dispatched in batches of its own.
  const groupBatches = Math.max(ahead.groups, Math.floor(ahead.groupsCost / best.cost));
  const batches = fullBatches + groupBatches;
  if (batches === 0 || slots === Number.POSITIVE_INFINITY) return freeSlotAfterMs(capacity, now, 0);
  const groupBatchMs =
    groupBatches === 0 ? 0 : (capacity.curve.mean(ahead.groupsCost / groupBatches) ?? best.durationMs);
  const meanMs = (fullBatches * best.durationMs + groupBatches * groupBatchMs) / batches;
  const rounds = Math.floor(batches / slots);
  return rounds * meanMs + freeSlotAfterMs(capacity, now, batches - rounds * slots);
}

/** When a slot is free if so many other batches take the slots that are free earlier. */
function freeSlotAfterMs({ placement, curve }: Capacity, now: number, others: number): number {
  const { freeSlots, inSlots } = placement;
  if (others < freeSlots) return 0;
  // One that is overdue ends now: taken as hung, it would have most items rejected after a slow phase of the backend.
  const after = inSlots.map((batch) => remainingMs(batch, now, curve) ?? 0);
  after.sort((a, b) => a - b);
  // A prefetched batch takes the slot of another.
  const prefetchedBatches = inSlots.filter(({ startedAt }) => startedAt > now).length;
  return Math.max(0, after[others - freeSlots + prefetchedBatches] ?? 0);
}

/** To the microsecond: a quick backend runs several batches in a millisecond. Coarser timers round up. */
function roundedUp(ms: number): number {
  return Math.max(1, Math.ceil(1000 * ms)) / 1000;
}
