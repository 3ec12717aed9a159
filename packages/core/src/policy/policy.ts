/**
 * The seam between deciding and doing. A policy looks at what waits and answers "dispatch this many"
 * or "ask me again then"; it reads no clock, sets no timer and touches no queue. That is why the same
 * object can serve a queue in memory, a backlog in Redis and the simulator.
 */
import type { ArrivalEstimate } from '../learning/arrival-rate.js';
import type { CurveEstimate } from '../learning/service-curve.js';

/** Why a batch left. */
export type Reason = 'full' | 'idle' | 'window' | 'deadline' | 'group' | 'drain' | 'manual';

export const REASONS: readonly Reason[] = ['full', 'idle', 'window', 'deadline', 'group', 'drain', 'manual'];

export interface Limits {
  readonly maxBatchSize: number;
  readonly maxWaitMs: number;
  readonly targetLatencyMs: number;
  /** The costs that batches are padded to, rising; none when a batch costs what its items cost. */
  readonly batchSizes: readonly number[];
  /** A wait shorter than this is not worth asking for. */
  readonly timerResolutionMs: number;
}

/** A batch in progress. */
export interface RunningWork {
  readonly size: number;
  readonly cost: number;
  readonly startedAt: number;
  /** How long it was expected to take on its backend; undefined where there is one backend, with the curve of the view. */
  readonly expectedMs?: number | undefined;
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
 * What a policy is shown: the items that may share the next batch, in the order in which they would
 * leave. Valid during the call only. Where only the length and the head of a backlog are known, every
 * position answers as the head does.
 */
export interface QueueView {
  /** How many wait, and what they cost together. */
  readonly length: number;
  readonly cost: number;
  /** When the one that has waited longest came. */
  readonly oldestAt: number;
  /** How many wait in other groups, for other batches. */
  readonly waitingElsewhere: number;
  /** Whether several groups come, lately. What is known of arrivals is then known of all of them together. */
  readonly isGrouped: boolean;
  arrivedAt(position: number): number;
  costAt(position: number): number;
  /** Whose item it is; undefined when the item names no tenant, or where tenants are not known. */
  tenantAt?(position: number): string | undefined;
  /** The caller's deadline or arrival + `targetLatencyMs`, whichever is earlier; Infinity when there is neither. */
  deadlineAt(position: number): number;
  /** The earliest deadline of the first so many. */
  earliestDeadline(count: number): number;
  /** Nobody who waits has an earlier deadline than this; Infinity when none has any. To be asked before looking. */
  readonly nextDeadline: number;

  /** Those of all ready backends together; where backends are unequal, of the one that would be chosen now. */
  readonly slots: number;
  readonly freeSlots: number;
  readonly running: readonly RunningWork[];
  /** The backends that get batches now. */
  readonly backends: readonly BackendView[];
  /** When the latest batch left; −Infinity when none has. */
  readonly lastDispatchAt: number;
  /** Since when a slot has been free; −Infinity when one always was. */
  readonly freeSince: number;

  readonly limits: Limits;
  /** That of the backend that would be chosen now. */
  readonly curve: CurveEstimate;
  readonly arrivals: ArrivalEstimate;
}

export interface Dispatch {
  readonly action: 'dispatch';
  /** How many items; cut to what `maxBatchSize` allows. */
  readonly count: number;
  readonly reason: Reason;
  /**
   * The id of the backend, which must have a free slot.
   * @default the one with the earliest predicted completion
   */
  readonly backend?: string | undefined;
  /** How many at the head to turn away first, because they can no longer make it. */
  readonly refuse?: number;
}

export interface Wait {
  readonly action: 'wait';
  /** When to ask again, if nothing arrives before; Infinity for not by itself. */
  readonly until: number;
  /** False when the end of a batch is no reason to ask again before. */
  readonly wakeOnBatchEnd?: boolean;
  readonly refuse?: number;
  /**
   * The positions of others to turn away, because they cannot make it any more: where priorities or tenants
   * change the order, they need not be at the head. When they are gone, the policy is asked again.
   */
  readonly refuseAt?: readonly number[];
}

export type Decision = Dispatch | Wait;

/** A batch that ended well, as a policy learns from it. */
export interface CompletedBatch extends RunningWork {
  readonly durationMs: number;
  /** How many callers it answered, who may now come back with their next item. */
  readonly callers: number;
}

export interface Policy {
  readonly name: string;
  /** Asked only when a slot is free and something waits. */
  decide(view: QueueView, now: number): Decision;
  /** Told at the end of each turn that brought something. */
  observeArrivals?(count: number, at: number): void;
  /** Told of each batch that ended well. */
  observeBatch?(batch: CompletedBatch, now: number): void;
}

/** A policy may be anybody's code: what it answers is checked. */
export function validDecision(decision: Decision, now: number): Decision {
  const { refuse = 0 } = decision;
  if (!Number.isInteger(refuse) || refuse < 0) throw new TypeError('refuse must be a whole number');
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
      if (!(decision.refuseAt ?? []).every((position) => Number.isInteger(position) && position >= 0)) {
        throw new TypeError('refuseAt must be positions, whole numbers from 0 up');
      }
      return decision;
    default:
      throw new TypeError('unknown action');
  }
}
