/**
 * No at the door: predicts when a newcomer would be answered, from the learned curve and what is
 * ahead of it, so that a caller who cannot be served in time hears so at once and not after a wait.
 * It errs on the side of letting in: the policy decides again when the batch is formed.
 */
import type { ArrivalEstimate } from '../learning/arrival-rate.js';
import type { CurveEstimate, CurvePoint } from '../learning/service-curve.js';
import { FRESH_MS, safeMs } from '../learning/trust.js';
import { USUAL_GROWTH } from '../policy/growth.js';
import type { DurationOf } from '../policy/on-time-window.js';
import type { RunningWork } from '../policy/policy.js';
import type { Ahead } from '../queue/item-queue.js';

/** What a prediction looks at: a batcher. */
export interface Backend {
  readonly queue: { readonly length: number; readonly cost: number };
  readonly settings: { readonly maxBatchSize: number };
  /** Of all ready backends. */
  readonly slots: number;
  readonly freeSlots: number;
  readonly running: readonly RunningWork[];
  readonly curve: CurveEstimate;
  readonly arrivals: ArrivalEstimate;
  readonly steadyArrivals: ArrivalEstimate;
}

/** Whether there is so much time that no prediction is needed: that of most callers with a deadline. */
export function hasTimeEnough(cost: number, ahead: Ahead, allowedMs: number, backend: Backend): boolean {
  const { curve, settings } = backend;
  const best = curve.best(settings.maxBatchSize);
  if (best === undefined) return true;
  // What runs, what is ahead, its own batch; and as much again, for whatever they may take longer.
  const batches = 2 + ahead.groups + (ahead.groupsCost + ahead.cost + cost) / best.cost;
  return 2 * batches * safeMs(curve, best.durationMs) <= allowedMs;
}

export interface Stay {
  readonly ms: number;
  /** Whether more come than can be served. */
  readonly isInCrowd: boolean;
}

/**
 * How long until an item of this cost is answered, so much leaving before it; undefined as long as nothing is
 * known. It is to be answered within `allowedMs`, and so are the others.
 */
export function predictedStay(
  cost: number,
  ahead: Ahead,
  allowedMs: number,
  backend: Backend,
  now: number,
): Stay | undefined {
  const prospect = prospectOf(cost, allowedMs, backend, now);
  if (prospect === undefined) return undefined;
  const { batch, crowdPerMs } = prospect;
  const startMs = startsAfterMs(ahead, batch, backend, now);
  const crowd = crowdPerMs * startMs;
  return { ms: startMs + takesMs(cost, ahead, crowd, batch, backend.curve), isInCrowd: crowd > 0 };
}

/** How long its batch takes: with the last few ahead of it, and with those who come until it leaves. */
function takesMs(cost: number, ahead: Ahead, crowd: number, batch: CurvePoint, curve: CurveEstimate): number {
  const ownBatch = Math.max(cost, Math.min(batch.cost, partialBatch(ahead.cost, batch) + crowd + cost));
  const ownMs = curve.predict(ownBatch) ?? batch.durationMs;
  // A margin decides whom to serve when not all can be. Where all can, it would refuse many for sure so that few are not late perhaps.
  return crowd > 0 ? safeMs(curve, ownMs) / CAREFUL : ownMs;
}

/** When to come back, for one who would be answered too late now: when what is ahead has gone far enough. */
export function retryAfterMs(
  cost: number,
  ahead: Ahead,
  allowedMs: number,
  backend: Backend,
  now: number,
): number {
  const { curve, settings } = backend;
  const prospect = prospectOf(cost, allowedMs, backend, now);
  const aloneMs = curve.predict(cost);
  if (prospect === undefined || aloneMs === undefined) return UNKNOWN_RETRY_MS;
  const { batch, crowdPerMs } = prospect;
  const startMs = startsAfterMs(ahead, batch, backend, now);
  const crowd = crowdPerMs * startMs;
  const partial = partialBatch(ahead.cost, batch);
  const partialMs = partial === 0 ? 0 : (curve.predict(partial) ?? 0);
  // Too slow even with nobody ahead, as the door sees it: to be tried again when what was measured is no longer fresh.
  if ((crowd > 0 ? safeMs(curve, aloneMs) : aloneMs) > allowedMs)
    return roundedUp(startMs + partialMs + FRESH_MS);
  // As long as batches have to grow, what they can do is not known. Not all at one moment, as all would if it were counted
  // from when a slot is free. Without a limit there is no size that they grow to.
  const largestCost = curve.points().at(-1)?.cost ?? 1;
  const growths = Math.log(batch.cost / largestCost) / Math.log(USUAL_GROWTH);
  const hasToGrow = growths > 1 / 2 && growths !== Number.POSITIVE_INFINITY;
  if (hasToGrow && ahead.cost + cost > largestCost)
    return roundedUp(allowedMs + Math.ceil(1 + growths) * batch.durationMs);
  // In a crowd there is always a batch to leave with. The door opens when the next is near enough; who
  // comes the moment it opens will have waited longest of all, and is the first to be let go.
  if (crowd > 0) {
    const opensAfterMs = startMs + takesMs(cost, ahead, crowd, batch, curve) - allowedMs;
    const opensForMs = batch.cost / crowdPerMs;
    return roundedUp(Math.max(0, opensAfterMs) + opensForMs / 4);
  }
  // Either it comes in time to leave together with the last few ahead of it, or after them.
  const togetherMs = safeMs(curve, curve.predict(Math.min(settings.maxBatchSize, partial + cost)) ?? 0);
  // Not sooner than a batch takes, or all who are refused in a burst would be back at once.
  const joinAfterMs = startMs + togetherMs - allowedMs;
  if (togetherMs <= allowedMs && joinAfterMs >= aloneMs && joinAfterMs < startMs)
    return roundedUp(joinAfterMs);
  return roundedUp(Math.max(aloneMs, startMs + partialMs + safeMs(curve, aloneMs) - allowedMs));
}

interface Prospect {
  /** The batches that what is ahead will leave in. */
  readonly batch: CurvePoint;
  /**
   * When more come than can be served, those who come until it leaves will leave with it, and make its
   * batch longer. When not, nobody is refused for the sake of others who might come: 0.
   */
  readonly crowdPerMs: number;
}

function prospectOf(cost: number, allowedMs: number, backend: Backend, now: number): Prospect | undefined {
  const { curve, settings } = backend;
  const atOnce = bestAtOnce(allowedMs, backend);
  if (atOnce === undefined) return undefined;
  const costPerMs = ratePerMs(cost, backend, now);
  if (!isTooMuch(costPerMs, atOnce, backend)) return { batch: atOnce, crowdPerMs: 0 };
  const surely = (ofCost: number) => safeMs(curve, curve.predict(ofCost) as number);
  const batch = bestInTime(curve, settings.maxBatchSize, costPerMs, CAREFUL * allowedMs, surely);
  return batch && { batch, crowdPerMs: costPerMs };
}

/** Whether more comes while such batches run than they take along. */
function isTooMuch(costPerMs: number, batch: CurvePoint, { slots }: Backend): boolean {
  return costPerMs * batch.durationMs > slots * batch.cost;
}

/** The batch that gets most done a millisecond and is in time if it leaves at once. */
function bestAtOnce(allowedMs: number, { curve, settings }: Backend): CurvePoint | undefined {
  const expected = (ofCost: number) => curve.predict(ofCost) as number;
  return bestInTime(curve, settings.maxBatchSize, Number.POSITIVE_INFINITY, allowedMs, expected);
}

/**
 * The cost that comes a millisecond, once that is known well enough: in the long run, for the door is not to open
 * and shut with every whim of the traffic, unless it has changed by more than chance would have it.
 */
function ratePerMs(cost: number, { arrivals, steadyArrivals, queue }: Backend, now: number): number {
  if (arrivals.samples < LEAST_ARRIVALS) return 0;
  const meanCost = (queue.cost + cost) / (queue.length + 1);
  const lately = arrivals.ratePerMs(now);
  const steady = steadyArrivals.ratePerMs(now);
  return meanCost * (Math.abs(lately - steady) > MOST_CHANCE * steady ? lately : steady);
}

/** Three standard deviations of what the last arrivals tell. */
const MOST_CHANCE = 0.27;
const LEAST_ARRIVALS = 128;

/**
 * The batch that gets most done a millisecond while its first item, which waits until the others have
 * come, is still in time. That is what batches grow to when more come than can be served.
 */
function bestInTime(
  curve: CurveEstimate,
  maxCost: number,
  costPerMs: number,
  allowedMs: number,
  durationMs: DurationOf,
): CurvePoint | undefined {
  const best = curve.best(maxCost);
  if (best === undefined || costPerMs === 0) return best;
  if (best.cost / costPerMs + best.durationMs <= allowedMs) return best;
  // The largest that is, whether or not one of its size was ever seen; and those that were.
  let inTime = largestInTime(curve, maxCost, costPerMs, allowedMs, durationMs);
  for (const point of curve.points()) {
    if (point.cost > inTime.cost) break;
    if (point.cost * inTime.durationMs > inTime.cost * point.durationMs) inTime = point;
  }
  return inTime;
}

/** How much of the time that is allowed is counted on: traffic is not as even as its mean. */
const CAREFUL = 0.95;

/** By doubling and halving: the time until a batch has come together and is done grows with its cost. */
function largestInTime(
  curve: CurveEstimate,
  maxCost: number,
  costPerMs: number,
  allowedMs: number,
  durationMs: DurationOf,
): CurvePoint {
  const isInTime = (cost: number) => cost / costPerMs + durationMs(cost) <= allowedMs;
  const most = Math.min(maxCost, Number.MAX_SAFE_INTEGER);
  let low = Math.min(1, maxCost);
  let high = low;
  while (high < most && isInTime(high)) {
    low = high;
    high = Math.min(most, 2 * high);
  }
  while (high - low > Math.max(0.5, low / 1000)) {
    const middle = (low + high) / 2;
    if (isInTime(middle)) low = middle;
    else high = middle;
  }
  return { cost: low, durationMs: curve.predict(low) as number };
}

/** When the last batch of what is ahead leaves, which has room left. */
function startsAfterMs(ahead: Ahead, best: CurvePoint, backend: Backend, now: number): number {
  const { slots } = backend;
  const fullBatches = Math.floor(ahead.cost / best.cost);
  // Each group leaves in batches of its own.
  const groupBatches = Math.max(ahead.groups, Math.floor(ahead.groupsCost / best.cost));
  const batches = fullBatches + groupBatches;
  if (batches === 0 || slots === Number.POSITIVE_INFINITY) return freeSlotAfterMs(backend, now, 0);
  const groupBatchMs =
    groupBatches === 0 ? 0 : (backend.curve.predict(ahead.groupsCost / groupBatches) ?? best.durationMs);
  const meanMs = (fullBatches * best.durationMs + groupBatches * groupBatchMs) / batches;
  const rounds = Math.floor(batches / slots);
  return rounds * meanMs + freeSlotAfterMs(backend, now, batches - rounds * slots);
}

function partialBatch(costAhead: number, best: CurvePoint): number {
  return best.cost === Number.POSITIVE_INFINITY ? costAhead : costAhead % best.cost;
}

/** How long until there is room again, when the line is full. */
export function roomAfterMs(backend: Backend, now: number): number {
  const best = backend.curve.best(backend.settings.maxBatchSize);
  if (best === undefined) return UNKNOWN_RETRY_MS;
  return roundedUp(freeSlotAfterMs(backend, now, 0) + best.durationMs / backend.slots);
}

/** To the microsecond: with a quick backend a whole millisecond is several batches. Who has coarser timers rounds up. */
function roundedUp(ms: number): number {
  return Math.max(1, Math.ceil(1000 * ms)) / 1000;
}

/** What to tell a caller to wait while nothing is known of the backend. */
const UNKNOWN_RETRY_MS = 1000;

/** When a slot is free for one before whom so many others take those that are free earlier. */
function freeSlotAfterMs({ running, freeSlots, curve }: Backend, now: number, others: number): number {
  if (others < freeSlots) return 0;
  // Each by the curve of its own backend.
  const after = running.map(
    ({ cost, startedAt, expectedMs = curve.predict(cost) ?? 0 }) => startedAt + expectedMs - now,
  );
  after.sort((a, b) => a - b);
  return Math.max(0, after[others - freeSlots] ?? 0);
}
