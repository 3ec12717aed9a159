/** A snapshot of a batcher. At any instant the counters of callers add up, as in the ledger. */

import type { BackendStats } from '../backends/backend-set.js';
import type { ErrorCode } from '../errors/errors.js';
import type { CurvePoint } from '../learning/service-curve.js';
import type { Reason } from '../policy/policy.js';
import type { Dispatcher } from './dispatcher.js';

export interface BatcherStats {
  readonly name: string;
  readonly state: 'open' | 'closing' | 'closed';

  /** Calls so far; the sum of the next seven counters. */
  readonly submitted: number;
  /** Answered with a result. */
  readonly succeeded: number;
  /** Answered with an error: of the item, of the handler, or `CLOSED` when the batcher was destroyed. */
  readonly failed: number;
  /** Rejected, at admission or by the policy. */
  readonly refused: number;
  /** Cancelled by signal or ticket. */
  readonly cancelled: number;
  /** The deadline passed. */
  readonly expired: number;
  /** In the queue now. */
  readonly queued: number;
  /** In a running batch now. */
  readonly running: number;

  /** The cost of all queued items. */
  readonly queuedCost: number;
  /** How long the oldest queued item has waited; 0 when the queue is empty. */
  readonly oldestWaitMs: number;
  readonly refusals: Readonly<Partial<Record<ErrorCode, number>>>;

  /** Batches that were started, and the number of their items. */
  readonly batches: number;
  readonly batchedItems: number;
  readonly batchesRunning: number;
  readonly reasons: Readonly<Record<Reason, number>>;

  /** The estimated rate of items offered to the queue: rejected ones count, callers that share an item do not. */
  readonly arrivalsPerSecond: number;
  /** Predicted duration of a full batch, or of the largest one so far; undefined before the first. */
  readonly fullBatchMs: number | undefined;
  /** The learned service curve: how long batches of each cost take. */
  readonly curve: readonly CurvePoint[];
  /** The backends; empty for a batcher with a handler. */
  readonly backends: readonly BackendStats[];
  /** How often the policy threw or returned an invalid decision, and the batcher fell back to greedy dispatch. */
  readonly policyErrors: number;
  readonly lastPolicyError: unknown;
}

export function statsOf(dispatcher: Dispatcher): BatcherStats {
  const { ledger, settings, queue, running, traffic, curve } = dispatcher;
  const now = settings.clock.now();
  return {
    name: settings.name,
    state: dispatcher.state,
    ...ledger,
    refusals: { ...ledger.refusals },
    reasons: { ...ledger.reasons },
    queuedCost: queue.cost,
    oldestWaitMs: queue.length === 0 ? 0 : now - queue.oldestAt,
    batchesRunning: running.all.length,
    arrivalsPerSecond: 1000 * traffic.ratePerMs(now),
    fullBatchMs: curve.mean(Math.min(settings.maxBatchSize, curve.largestCost)),
    curve: curve.points().map(({ cost, durationMs }) => ({ cost, durationMs })),
    backends: settings.backends?.stats() ?? [],
  };
}
