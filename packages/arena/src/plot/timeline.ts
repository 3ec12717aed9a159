/** A part of a run as plain data, for a timeline chart. */
import type { Run } from '../simulation/simulate.js';

export interface Timeline {
  readonly fromMs: number;
  readonly toMs: number;
  readonly slots: number;
  /** Arrival times of items with a response, and of those without. */
  readonly answeredAt: readonly number[];
  readonly refusedAt: readonly number[];
  readonly batches: readonly TimelineBatch[];
  /** Periods in which a slot was free while items waited, with that slot. */
  readonly holds: readonly Span[];
  /** Queue length from each time on. */
  readonly queue: readonly (readonly [atMs: number, items: number])[];
}

interface Span {
  readonly slot: number;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface TimelineBatch extends Span {
  readonly size: number;
  readonly reason: string;
}

export function timelineOf(run: Run, fromMs: number, toMs: number): Timeline {
  const { slots } = run.scenario;
  const answeredAt: number[] = [];
  const refusedAt: number[] = [];
  run.arrivedAt.forEach((at, i) => {
    if (at > toMs) return;
    (Number.isNaN(run.latencyMs[i]) ? refusedAt : answeredAt).push(at);
  });
  const batches = inSlots(run, slots, toMs);
  const { queue, holds } = waiting(answeredAt, batches, slots, fromMs, toMs);
  const isShown = (at: number) => at >= fromMs && at <= toMs;
  return {
    fromMs,
    toMs,
    slots,
    answeredAt: answeredAt.filter(isShown),
    refusedAt: refusedAt.filter(isShown),
    batches: batches.filter((batch) => batch.toMs > fromMs && batch.fromMs < toMs),
    holds,
    queue,
  };
}

/** The first part of a timeline, for narrow charts. */
export function beginningOf(timeline: Timeline, toMs: number): Timeline {
  return {
    ...timeline,
    toMs,
    answeredAt: timeline.answeredAt.filter((at) => at <= toMs),
    refusedAt: timeline.refusedAt.filter((at) => at <= toMs),
    batches: timeline.batches.filter(({ fromMs }) => fromMs < toMs),
    holds: timeline.holds
      .filter(({ fromMs }) => fromMs < toMs)
      .map((hold) => ({ ...hold, toMs: Math.min(hold.toMs, toMs) })),
    queue: timeline.queue.filter(([at]) => at <= toMs),
  };
}

/** A run does not record slots: each batch gets the first free one. */
function inSlots(run: Run, slots: number, untilMs: number): TimelineBatch[] {
  const freeFrom: number[] = new Array(slots).fill(Number.NEGATIVE_INFINITY);
  const placed: TimelineBatch[] = [];
  for (const { startedAt, durationMs, size, reason } of run.batches) {
    if (startedAt > untilMs) break;
    let slot = freeFrom.findIndex((at) => at <= startedAt);
    if (slot === -1) slot = freeFrom.indexOf(Math.min(...freeFrom));
    freeFrom[slot] = startedAt + durationMs;
    placed.push({ slot, fromMs: startedAt, toMs: startedAt + durationMs, size, reason });
  }
  return placed;
}

type Change =
  | { readonly at: number; readonly kind: 'end'; readonly slot: number }
  | { readonly at: number; readonly kind: 'arrival' }
  | { readonly at: number; readonly kind: 'start'; readonly slot: number; readonly size: number };

/** The order of changes at the same time. */
const ORDER = { end: 0, arrival: 1, start: 2 } as const;

/** Shorter holds are rounding errors. */
const SHORTEST_MS = 1e-6;

/**
 * Queue lengths and holds. Only items with a response count as queued: a run does not record when an item was rejected,
 * and most are rejected at submit.
 */
function waiting(
  answeredAt: readonly number[],
  batches: readonly TimelineBatch[],
  slots: number,
  fromMs: number,
  toMs: number,
): { queue: (readonly [number, number])[]; holds: Span[] } {
  const changes: Change[] = [
    ...answeredAt.map((at): Change => ({ at, kind: 'arrival' })),
    ...batches.map(({ slot, fromMs: at, size }): Change => ({ at, kind: 'start', slot, size })),
    ...batches.map(({ slot, toMs: at }): Change => ({ at, kind: 'end', slot })),
  ];
  changes.sort((a, b) => a.at - b.at || ORDER[a.kind] - ORDER[b.kind]);
  const busy: boolean[] = new Array(slots).fill(false);
  const queue: (readonly [number, number])[] = [];
  const holds: Span[] = [];
  let items = 0;
  let before = fromMs;
  const record = (until: number) => {
    const slot = busy.indexOf(false);
    if (items > 0 && slot !== -1) addSpan(holds, { slot, fromMs: before, toMs: until });
  };
  for (const change of changes) {
    const at = Math.min(change.at, toMs);
    if (at > before) {
      record(at);
      before = at;
    }
    if (change.at > toMs) break;
    if (change.kind === 'arrival') items += 1;
    else busy[change.slot] = change.kind === 'start';
    // Retries are in batches, but their arrivals are not recorded.
    if (change.kind === 'start') items = Math.max(0, items - change.size);
    addStep(queue, Math.max(change.at, fromMs), items);
  }
  if (before < toMs) record(toMs);
  return { queue, holds };
}

function addSpan(spans: Span[], span: Span): void {
  if (span.toMs - span.fromMs < SHORTEST_MS) return;
  const last = spans.at(-1);
  if (last !== undefined && last.slot === span.slot && span.fromMs - last.toMs < SHORTEST_MS) {
    spans[spans.length - 1] = { ...last, toMs: span.toMs };
  } else spans.push(span);
}

/** Of several changes at the same time the last one is kept. */
function addStep(steps: (readonly [number, number])[], at: number, items: number): void {
  if (steps.at(-1)?.[0] === at) steps.pop();
  if (steps.at(-1)?.[1] !== items) steps.push([at, items]);
}
