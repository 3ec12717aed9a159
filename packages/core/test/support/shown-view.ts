/** A queue view built from plain data, for direct calls of a policy; and a policy with a history of batches. */
import { type Limits, type Policy, type QueueView, type RunningWork, ServiceCurve, Traffic } from 'batchwise';

export interface Waiting {
  readonly arrivedAt: number;
  readonly cost?: number;
  readonly deadline?: number;
}

export interface Shown extends Partial<Limits> {
  /** The queued items in dispatch order. */
  readonly waiting: readonly Waiting[];
  readonly slots?: number;
  readonly running?: readonly RunningWork[];
  readonly isGrouped?: boolean;
  readonly waitingElsewhere?: number;
  readonly freeSince?: number;
  readonly lastDispatchAt?: number;
  readonly curve?: ServiceCurve;
  readonly traffic?: Traffic;
}

export function shownView(shown: Shown): QueueView {
  const { waiting, slots = 1, running = [] } = shown;
  const limits: Limits = {
    maxBatchSize: shown.maxBatchSize ?? 64,
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
    traffic: shown.traffic ?? new Traffic(),
  };
}

/** A history of arrivals and batches. The lists are repeated. */
export interface Past {
  /** The times between arrivals. */
  readonly gapsMs: readonly number[];
  /** How many items arrive together. */
  readonly together: readonly number[];
  /** The cost of each item. */
  readonly cost: number;
  /** The sizes of the batches. */
  readonly sizes: readonly number[];
  readonly batches: number;
  durationMs(cost: number): number;
}

export interface WithHistory {
  readonly policy: Policy;
  readonly curve: ServiceCurve;
  readonly traffic: Traffic;
  readonly now: number;
}

/** Replays a history to a policy and its estimators. The policy decides about each batch. */
export function withHistory(
  policy: Policy,
  past: Past,
  shown: Omit<Shown, 'waiting'> = {},
  curve = new ServiceCurve([], shown.batchSizes),
): WithHistory {
  const { gapsMs, together, sizes, cost } = past;
  const traffic = new Traffic();
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
      traffic.arrived(count, now);
      policy.observeArrivals?.(count, now);
    }
    policy.decide(shownView({ ...shown, running: [], waiting, curve, traffic }), now);
    policy.prepare?.(now);
    const durationMs = past.durationMs(curve.padded(size * cost));
    const startedAt = now;
    now += durationMs;
    curve.record(size * cost, durationMs, now);
    const ended = { size, cost: size * cost, startedAt, durationMs, callers: size };
    traffic.batchEnded(ended, now);
    policy.observeBatch?.(ended, now);
  }
  return { policy, curve, traffic, now };
}
