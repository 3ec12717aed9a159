/** A queue view with given items, to call a policy directly. */
import {
  type CompletedBatch,
  type CurvePoint,
  type Decision,
  type Limits,
  type Policy,
  type QueueView,
  ServiceCurve,
  Traffic,
} from 'batchwise';

export interface Shown {
  /** Arrival times of the queued items, from the head. */
  readonly arrivedAt: readonly number[];
  readonly costs?: readonly number[];
  readonly maxBatchSize?: number;
  readonly curve?: readonly CurvePoint[];
  /** Arrival rate. */
  readonly ratePerMs?: number;
  /** False within the turn of their arrival, before the estimators have recorded them. */
  readonly isRecorded?: boolean;
}

/** The view, and the furthest position that was read. */
export function shownQueue(shown: Shown): QueueView & { readonly lookedAt: number } {
  const { arrivedAt, costs = arrivedAt.map(() => 1), maxBatchSize = 4, curve = [], ratePerMs = 1 } = shown;
  const limits: Limits = {
    maxBatchSize,
    targetLatencyMs: Number.POSITIVE_INFINITY,
    batchSizes: [],
    timerResolutionMs: 0,
  };
  let lookedAt = -1;
  const look = <T>(values: readonly T[], position: number): T => {
    lookedAt = Math.max(lookedAt, position);
    const value = values[position];
    if (value === undefined) throw new RangeError(`There is no position ${position}.`);
    return value;
  };
  const traffic = new Traffic();
  if (shown.isRecorded ?? true) for (const at of arrivedAt) traffic.arrived(1, at);
  traffic.ratePerMs = () => ratePerMs;
  return {
    get lookedAt() {
      return lookedAt;
    },
    length: arrivedAt.length,
    cost: costs.reduce((sum, cost) => sum + cost, 0),
    oldestAt: Math.min(...arrivedAt),
    waitingElsewhere: 0,
    arrivedAt: (position) => look(arrivedAt, position),
    costAt: (position) => look(costs, position),
    deadlineAt: () => Number.POSITIVE_INFINITY,
    nextDeadline: Number.POSITIVE_INFINITY,
    earliestDeadline: () => Number.POSITIVE_INFINITY,
    isGrouped: false,
    slots: 1,
    freeSlots: 1,
    running: [],
    backends: [],
    lastDispatchAt: Number.NEGATIVE_INFINITY,
    freeSince: Number.NEGATIVE_INFINITY,
    limits,
    curve: new ServiceCurve(curve),
    traffic,
  };
}

/** A successful batch. */
export function ended(size: number, durationMs: number, startedAt = 0): CompletedBatch {
  return { size, cost: size, durationMs, startedAt, callers: size };
}

/** The decisions about a queue: rejected positions are removed, and the policy decides again. */
export function answerTo(
  policy: Policy,
  shown: Shown,
  now: number,
): { rejected: number; decision?: Decision } {
  const { arrivedAt } = shown;
  const view = shownQueue(shown);
  const decision = policy.decide(view, now);
  if (decision.action !== 'reject') return { rejected: 0, decision };
  const left = arrivedAt.filter((_, position) => !decision.positions.includes(position));
  const rejected = arrivedAt.length - left.length;
  if (left.length === 0) return { rejected };
  const next = answerTo(policy, { ...shown, arrivedAt: left }, now);
  return { ...next, rejected: rejected + next.rejected };
}
