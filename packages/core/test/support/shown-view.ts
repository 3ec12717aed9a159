/** A view of a queue made by hand, to ask a policy directly; and a policy with a past, to be asked. */
import {
  ArrivalRate,
  type Limits,
  type Policy,
  type QueueView,
  type RunningWork,
  ServiceCurve,
} from 'batchwise';

export interface Waiting {
  readonly arrivedAt: number;
  readonly cost?: number;
  readonly deadline?: number;
}

export interface Shown extends Partial<Limits> {
  /** Who waits, in the order in which they would leave. */
  readonly waiting: readonly Waiting[];
  readonly slots?: number;
  readonly running?: readonly RunningWork[];
  readonly isGrouped?: boolean;
  readonly waitingElsewhere?: number;
  readonly freeSince?: number;
  readonly lastDispatchAt?: number;
  readonly curve?: ServiceCurve;
  readonly arrivals?: ArrivalRate;
}

export function shownView(shown: Shown): QueueView {
  const { waiting, slots = 1, running = [] } = shown;
  const limits: Limits = {
    maxBatchSize: shown.maxBatchSize ?? 64,
    maxWaitMs: shown.maxWaitMs ?? Number.POSITIVE_INFINITY,
    targetLatencyMs: shown.targetLatencyMs ?? Number.POSITIVE_INFINITY,
    batchSizes: shown.batchSizes ?? [],
    timerResolutionMs: shown.timerResolutionMs ?? 0,
  };
  const at = (position: number): Waiting => {
    const found = waiting[position];
    if (found === undefined) throw new RangeError(`There is no position ${position} of ${waiting.length}.`);
    return found;
  };
  const deadlineAt = (position: number): number => {
    const { arrivedAt, deadline = Number.POSITIVE_INFINITY } = at(position);
    return Math.min(deadline, arrivedAt + limits.targetLatencyMs);
  };
  return {
    length: waiting.length,
    cost: waiting.reduce((sum, { cost = 1 }) => sum + cost, 0),
    oldestAt: Math.min(...waiting.map(({ arrivedAt }) => arrivedAt)),
    waitingElsewhere: shown.waitingElsewhere ?? 0,
    isGrouped: shown.isGrouped ?? false,
    arrivedAt: (position) => at(position).arrivedAt,
    costAt: (position) => at(position).cost ?? 1,
    deadlineAt,
    earliestDeadline: (count) =>
      Math.min(...waiting.slice(0, count).map((_, position) => deadlineAt(position))),
    nextDeadline: Math.min(...waiting.map((_, position) => deadlineAt(position))),
    slots,
    freeSlots: slots - running.length,
    running,
    backends: [],
    lastDispatchAt: shown.lastDispatchAt ?? Number.NEGATIVE_INFINITY,
    freeSince: shown.freeSince ?? Number.NEGATIVE_INFINITY,
    limits,
    curve: shown.curve ?? new ServiceCurve(),
    arrivals: shown.arrivals ?? new ArrivalRate(),
  };
}

/** How items came and were served, so that there is something to know of them. */
export interface Past {
  /** The times between arrivals, over and over. */
  readonly gapsMs: readonly number[];
  /** How many come together, over and over. */
  readonly together: readonly number[];
  /** What each costs. */
  readonly cost: number;
  /** The sizes of the batches, over and over. */
  readonly sizes: readonly number[];
  readonly batches: number;
  durationMs(cost: number): number;
}

export interface Known {
  readonly policy: Policy;
  readonly curve: ServiceCurve;
  readonly arrivals: ArrivalRate;
  readonly now: number;
}

/**
 * Tells a policy and its estimators of a past. It is asked on the way as it would have been, because a
 * policy may think only while it is asked.
 */
export function lived(
  policy: Policy,
  past: Past,
  shown: Omit<Shown, 'waiting'> = {},
  curve = new ServiceCurve([], shown.batchSizes),
): Known {
  const { gapsMs, together, sizes, cost } = past;
  const arrivals = new ArrivalRate();
  let now = 0;
  let turn = 0;
  for (let batch = 0; batch < past.batches; batch++) {
    const size = sizes[batch % sizes.length] as number;
    const waiting: Waiting[] = [];
    while (waiting.length < size) {
      now += gapsMs[turn % gapsMs.length] as number;
      const count = together[turn % together.length] as number;
      turn += 1;
      for (let i = 0; i < count; i++) waiting.push({ arrivedAt: now, cost });
      arrivals.record(count, now);
      policy.observeArrivals?.(count, now);
    }
    policy.decide(shownView({ ...shown, running: [], waiting, curve, arrivals }), now);
    const durationMs = past.durationMs(curve.padded(size * cost));
    const startedAt = now;
    now += durationMs;
    curve.record(size * cost, durationMs, now);
    policy.observeBatch?.({ size, cost: size * cost, startedAt, durationMs, callers: size }, now);
  }
  return { policy, curve, arrivals, now };
}
