/**
 * Chooses the backend for the next batch: the earliest predicted completion over the free slots. A batch is held for a
 * busy backend only if its predicted completion is earlier there. Pure: it reads the backends and changes nothing.
 */
import { remainingMs } from '../policy/policy.js';
import type { LearnedBackend } from './learned-backend.js';

export interface Choice {
  readonly backend: LearnedBackend;
  /** Hold the batch for a faster backend, at most until then. */
  readonly holdUntil: number | undefined;
  /** The largest cost it should take: the rest of the queue completes sooner elsewhere. Infinity among equal backends. */
  readonly maxCost: number;
}

/** What was learned expires after this time: a backend that was slow once would otherwise never be used again. */
const BACKEND_FRESH_MS = 10_000;
/** Predictions that differ by less than this factor count as equal, because they are not more accurate. */
const EQUAL_PREDICTIONS_FACTOR = 1.25;
/** The number of parts into which the queue is divided among unequal backends, and the batches of each slot that count. */
const PARTS = 32;
/** Shortest hold: the timer resolution of Node. */
const MIN_HOLD_MS = 1;

/** The queue as the choice sees it. */
export interface Demand {
  readonly queuedCost: number;
  /** The arrival rate, in cost. */
  readonly costPerMs: number;
  readonly maxBatchSize: number;
  /** A backend has not started the first item. */
  readonly isRetry: boolean;
}

/** Among equal backends, `rotation` decides. */
export function chooseBackend(
  backends: readonly LearnedBackend[],
  { queuedCost, costPerMs, maxBatchSize, isRetry }: Demand,
  rotation: number,
  now: number,
): Choice | undefined {
  const [only] = backends;
  if (only === undefined) return undefined;
  if (backends.length === 1) return only.freeSlots > 0 ? atOnce(only) : undefined;
  const free = backends.filter(({ freeSlots }) => freeSlots > 0);
  const trial = free.find(({ member }) => member.isTrialDue);
  if (trial !== undefined) return atOnce(trial);
  // Up to and including the moment of a failure: a retry at once goes elsewhere, even if no failures eject.
  const isSound = ({ member }: LearnedBackend): boolean => member.health.doubtfulUntil < now;
  const sound = free.filter(isSound);
  const usable = sound.length > 0 ? sound : free;
  const cost = Math.min(queuedCost, maxBatchSize);
  const durations = usable.map((each) => durationMs(each, cost, now));
  const leastMs = Math.min(...durations);
  const alike = usable.filter((_, i) => (durations[i] as number) <= leastMs * EQUAL_PREDICTIONS_FACTOR);
  const leastBusy = Math.min(...alike.map(busyShare));
  const idlest = alike.filter((each) => busyShare(each) === leastBusy);
  const backend = idlest[rotation % idlest.length];
  if (backend === undefined) return undefined;
  const others = backends.filter((other) => other !== backend && isSound(other));
  // The retries of an item must not be used up by one backend.
  if (isRetry && sound.length === 0)
    return { ...atOnce(backend), holdUntil: retryUntil(others, backend, now) };
  const slots = [backend, ...others].flatMap((each) => slotsOf(each, now));
  if (leastMs === 0 || areEqual(slots, cost)) return atOnce(backend);
  // Items that arrive until the others are free will be in their batches, too.
  const othersFreeMs = slots
    .filter(({ freeMs }) => freeMs > 0 && freeMs < leastMs)
    .map(({ freeMs }) => freeMs);
  const comingCost = othersFreeMs.length === 0 ? 0 : costPerMs * Math.min(...othersFreeMs);
  divide(slots, queuedCost + comingCost, maxBatchSize);
  const loaded = slots.filter(({ load }) => load > 0);
  const taker =
    loaded.find((slot) => slot.backend === backend) ?? loaded.find((slot) => usable.includes(slot.backend));
  if (taker === undefined) {
    const until = Math.min(...loaded.map(({ freeMs }) => freeMs));
    return { ...atOnce(backend), holdUntil: now + Math.max(MIN_HOLD_MS, until) };
  }
  return {
    backend: taker.backend,
    holdUntil: undefined,
    maxCost: taker.load >= maxBatchSize ? Number.POSITIVE_INFINITY : taker.load,
  };
}

function atOnce(backend: LearnedBackend): Choice {
  return { backend, holdUntil: undefined, maxCost: Number.POSITIVE_INFINITY };
}

/** A slot that takes a part of what is queued. */
interface Slot {
  readonly backend: LearnedBackend;
  /** When it is free. */
  readonly freeMs: number;
  /** The cost that it takes of the queue. */
  load: number;
  /** When the batch that is being filled starts, and its cost so far. */
  startMs: number;
  filled: number;
  /** How much the total latency grows if the next part goes there. */
  addedMs: number;
}

/** At most `PARTS` slots, because no more of them would get a part. */
function slotsOf(backend: LearnedBackend, now: number): Slot[] {
  const { freeSlots, slots } = backend;
  const free = Array.from({ length: Math.min(freeSlots, PARTS) }, () => 0);
  const busy = freeSlots >= slots ? [] : freeAfterMs(backend, now);
  return [...free, ...busy]
    .slice(0, PARTS)
    .map((freeMs) => ({ backend, freeMs, load: 0, startMs: freeMs, filled: 0, addedMs: 0 }));
}

function areEqual(slots: readonly Slot[], cost: number): boolean {
  const durations = slots.map(({ backend }) => backend.curve.mean(cost));
  const known = durations.filter((duration) => duration !== undefined);
  return (
    known.length < durations.length || Math.max(...known) <= EQUAL_PREDICTIONS_FACTOR * Math.min(...known)
  );
}

/** Gives each part of the queue to the slot where it adds least to the total latency. */
function divide(slots: readonly Slot[], queuedCost: number, maxBatchSize: number): void {
  const part = Math.min(maxBatchSize, Math.max(1, queuedCost / PARTS));
  for (const slot of slots) slot.addedMs = addedMs(slot, part, maxBatchSize);
  for (let left = Math.min(queuedCost, slots.length * PARTS * maxBatchSize); left > 0; left -= part) {
    let best = slots[0] as Slot;
    for (const slot of slots) if (slot.addedMs < best.addedMs) best = slot;
    const { backend, filled, startMs } = best;
    if (filled + part > maxBatchSize) {
      best.startMs = startMs + (backend.curve.mean(maxBatchSize) as number);
      best.filled = part;
    } else {
      best.filled = filled + part;
    }
    best.load += part;
    best.addedMs = addedMs(best, part, maxBatchSize);
  }
}

function addedMs({ backend, startMs, filled, freeMs }: Slot, part: number, maxBatchSize: number): number {
  const { curve } = backend;
  const predict = (cost: number): number => curve.mean(cost) as number;
  // An item is left to a busy backend only if it completes clearly sooner there.
  const sooner = freeMs > 0 ? EQUAL_PREDICTIONS_FACTOR : 1;
  if (filled + part > maxBatchSize) return sooner * part * (startMs + predict(maxBatchSize) + predict(part));
  const before = filled === 0 ? 0 : filled * (startMs + predict(filled));
  return sooner * ((filled + part) * (startMs + predict(filled + part)) - before);
}

/** 0 if nothing current is known and nothing runs there, so that one batch measures it. */
function durationMs({ curve, answeredAt, member }: LearnedBackend, cost: number, now: number): number {
  const expectedMs = curve.mean(cost);
  const isKnown = expectedMs !== undefined && now - answeredAt <= BACKEND_FRESH_MS;
  if (!isKnown && member.running.length === 0) return 0;
  return expectedMs ?? Number.POSITIVE_INFINITY;
}

function busyShare({ slots, member: { running } }: LearnedBackend): number {
  return slots === Number.POSITIVE_INFINITY
    ? running.length / Number.MAX_SAFE_INTEGER
    : running.length / slots;
}

/** When another backend is expected to be free, as long as the failure of this one is recent. */
function retryUntil(
  others: readonly LearnedBackend[],
  { member }: LearnedBackend,
  now: number,
): number | undefined {
  const freeMs = Math.min(...others.flatMap((other) => freeAfterMs(other, now)));
  return freeMs === Number.POSITIVE_INFINITY
    ? undefined
    : Math.min(now + Math.max(MIN_HOLD_MS, freeMs), member.health.doubtfulUntil);
}

/** A batch that is overdue may hang: it is expected to take as long again as it is overdue. */
function freeAfterMs({ member, curve }: LearnedBackend, now: number): number[] {
  return member.running.map((batch) => Math.abs(remainingMs(batch, now, curve) ?? Number.POSITIVE_INFINITY));
}
