/**
 * The interface between decisions and effects. A policy sees the queue and the time and decides: dispatch so many items,
 * wait until then, or reject these. It reads no clock, sets no timer and changes no queue, so the same object serves a
 * queue in memory, a backlog in Redis and the simulator.
 */
import type { CurveEstimate } from '../learning/service-curve.js';
import type { TrafficEstimate } from '../learning/traffic.js';

/** Why a batch was dispatched. */
export type Reason = 'full' | 'idle' | 'window' | 'deadline' | 'group' | 'drain' | 'manual';

export const REASONS: readonly Reason[] = ['full', 'idle', 'window', 'deadline', 'group', 'drain', 'manual'];

export interface Limits {
  readonly maxBatchSize: number;
  readonly targetLatencyMs: number;
  /** The costs that batches are padded to, rising; empty if the backend does not pad. */
  readonly batchSizes: readonly number[];
  /** The shortest wait that a timer can measure. */
  readonly timerResolutionMs: number;
}

/** A batch in flight. */
export interface RunningWork {
  readonly cost: number;
  readonly startedAt: number;
  /** How long it was expected to take on its backend; undefined where a handler runs it, or if nothing was known. */
  readonly expectedMs?: number | undefined;
}

/** The expected remaining time of a batch, below 0 if it is overdue; undefined if nothing is known. */
export function remainingMs(
  { cost, startedAt, expectedMs }: RunningWork,
  now: number,
  curve: CurveEstimate,
): number | undefined {
  const durationMs = expectedMs ?? curve.mean(cost);
  return durationMs === undefined ? undefined : startedAt + durationMs - now;
}

/** A backend, as a policy sees it. */
export interface BackendView {
  readonly id: string;
  readonly slots: number;
  readonly freeSlots: number;
  readonly running: readonly RunningWork[];
  readonly curve: CurveEstimate;
}

/**
 * What a policy sees: the items that may share the next batch, in the order in which they are dispatched. Valid during
 * the call only. Where only the length and the head of a backlog are known, every position answers as the head does.
 */
export interface QueueView {
  /** The number of queued items, and their total cost. */
  readonly length: number;
  readonly cost: number;
  /** The arrival time of the oldest item. */
  readonly oldestAt: number;
  /** The number of items queued in other groups, for other batches. */
  readonly waitingElsewhere: number;
  /** Whether items of several groups arrived lately. */
  readonly isGrouped: boolean;
  arrivedAt(position: number): number;
  costAt(position: number): number;
  /** The tenant of the item; undefined when the item names none, or where tenants are not known. */
  tenantAt?(position: number): string | undefined;
  /** The caller's deadline or arrival + `targetLatencyMs`, whichever is earlier; Infinity without both. */
  deadlineAt(position: number): number;
  /** The earliest deadline of the first `count` items. */
  earliestDeadline(count: number): number;
  /**
   * A lower bound of all deadlines in the queue, cheap to read; Infinity when no item has one. Deadlines of callers whose
   * batch is running and of other groups count, too.
   */
  readonly nextDeadline: number;

  /** The slots and batches of all ready backends; where backends are unequal, of the one that would be chosen now. */
  readonly slots: number;
  readonly freeSlots: number;
  readonly running: readonly RunningWork[];
  /** The backends that get batches now; none where a handler does. */
  readonly backends: readonly BackendView[];
  /** The time of the latest dispatch; −Infinity before the first. */
  readonly lastDispatchAt: number;
  /** The time since which a slot has been free; −Infinity if one always was. */
  readonly freeSince: number;

  readonly limits: Limits;
  /** The curve of the group, or of the backend that would be chosen now. */
  readonly curve: CurveEstimate;
  /** The traffic of the group, where `isGrouped`. */
  readonly traffic: TrafficEstimate;
}

export interface Dispatch {
  readonly action: 'dispatch';
  /** The number of items; cut to what `maxBatchSize` allows. */
  readonly count: number;
  readonly reason: Reason;
  /**
   * The id of the backend, which must have a free slot.
   * @default the one with the earliest predicted completion
   */
  readonly backend?: string | undefined;
}

export interface Wait {
  readonly action: 'wait';
  /** When to ask again if nothing arrives before; Infinity for at the next event only. */
  readonly until: number;
  /** False when the end of a batch is no reason to ask again before `until`. */
  readonly wakeOnBatchEnd?: boolean;
}

export interface Reject {
  readonly action: 'reject';
  /** The positions of items that cannot meet their deadline. They are rejected, and the policy is asked again. */
  readonly positions: readonly number[];
}

export type Decision = Dispatch | Wait | Reject;

/** A batch that succeeded, as a policy learns from it. */
export interface CompletedBatch extends RunningWork {
  readonly size: number;
  readonly durationMs: number;
  /** The number of callers it answered: each may come back with its next item. */
  readonly callers: number;
}

/** A group that may be dispatched next. */
export interface WaitingGroup {
  /** Of its queued items, up to `maxBatchSize`. */
  readonly cost: number;
  /** Of its oldest item; Infinity without one. */
  readonly deadline: number;
  readonly curve: CurveEstimate;
}

export interface Policy {
  readonly name: string;
  /**
   * Asked when a slot is free and the queue is not empty. For a full batch also while no slot is free, if a backend takes
   * a batch ahead (`readsAhead`).
   */
  decide(view: QueueView, now: number): Decision;
  /**
   * The position of the group to decide about, when items have deadlines and several groups are not held. The groups are
   * of one tenant and one priority; the first is the one that is next by age, and is next without this method.
   */
  nextGroup?: ((groups: readonly WaitingGroup[], slots: number, now: number) => number) | undefined;
  /** Called at the end of each event-loop turn with arrivals. */
  observeArrivals?: ((count: number, at: number) => void) | undefined;
  /** Called for each batch that succeeded. */
  observeBatch?(batch: CompletedBatch, now: number): void;
  /** Called after decisions, with no batch waiting for it: the place for longer computations, up to some 0.2 ms. */
  prepare?(now: number): void;
}

/** All members of a policy. A policy around another implements this type, so that no optional member is lost. */
export type WholePolicy = { [Member in keyof Required<Policy>]: Policy[Member] };

/** A policy may be user code: its decisions are checked. */
export function validDecision(decision: Decision, now: number, length: number): Decision {
  switch (decision.action) {
    case 'dispatch': {
      const { count, reason, backend } = decision;
      if (!(Number.isInteger(count) || count === Number.POSITIVE_INFINITY) || count < 1) {
        throw new TypeError('count must be a whole number from 1 up');
      }
      if (!REASONS.includes(reason)) throw new TypeError('unknown reason');
      if (backend !== undefined && typeof backend !== 'string') throw new TypeError('backend must be an id');
      return decision;
    }
    case 'wait':
      if (typeof decision.until !== 'number' || !(decision.until > now)) {
        throw new TypeError('until must lie in the future');
      }
      return decision;
    case 'reject': {
      const isPosition = (position: unknown) =>
        Number.isInteger(position) && (position as number) >= 0 && (position as number) < length;
      const positions = [...new Set(Array.from(decision.positions))];
      if (positions.length === 0 || !positions.every(isPosition)) {
        throw new TypeError(`positions must be whole numbers from 0 to ${length - 1}, at least one`);
      }
      return { action: 'reject', positions };
    }
    default:
      throw new TypeError('unknown action');
  }
}
