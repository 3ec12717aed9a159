/** A snapshot of a batcher. At any instant the callers add up: see the first line of the ledger. */

import type { BackendStats } from '../backends/backend-set.js';
import type { ErrorCode } from '../errors/errors.js';
import type { CurvePoint } from '../learning/service-curve.js';
import type { Reason } from '../policy/policy.js';
import type { Dispatcher } from './dispatcher.js';

export interface BatcherStats {
  readonly name: string;
  readonly state: 'open' | 'closing' | 'closed';

  /** Callers so far; the sum of the eight that follow. */
  readonly submitted: number;
  /** Answered with a result. */
  readonly succeeded: number;
  /** Answered with an error: their own, the handler's, or `CLOSED` when the batcher was destroyed. */
  readonly failed: number;
  /** Turned away, at the door or by the policy. */
  readonly refused: number;
  /** Gave up. */
  readonly cancelled: number;
  /** Their deadline passed. */
  readonly expired: number;
  /** Waiting now. */
  readonly queued: number;
  /** In a running batch now. */
  readonly running: number;

  /** The cost of what is waiting. */
  readonly queuedCost: number;
  /** How long the one that came first of those has waited; 0 when nothing waits. */
  readonly oldestWaitMs: number;
  readonly refusals: Readonly<Partial<Record<ErrorCode, number>>>;

  /** Batches that were started, and how many items they had. */
  readonly batches: number;
  readonly batchedItems: number;
  readonly batchesRunning: number;
  readonly reasons: Readonly<Record<Reason, number>>;

  /** Items a second that arrive, as estimated now. */
  readonly arrivalsPerSecond: number;
  /** How long a full batch, or the largest seen so far, is expected to take; undefined before the first. */
  readonly fullBatchMs: number | undefined;
  /** The learned service curve: how long batches of each cost take. */
  readonly curve: readonly CurvePoint[];
  /** The backends; empty for a batcher with a handler. */
  readonly backends: readonly BackendStats[];
  /** How often the policy threw or answered nonsense, and was gone without. */
  readonly policyErrors: number;
  readonly lastPolicyError: unknown;
}

export function statsOf<I, R>(dispatcher: Dispatcher<I, R>): BatcherStats {
  const { ledger, settings, queue, running, arrivals, curve } = dispatcher;
  const now = settings.clock.now();
  return {
    name: settings.name,
    state: dispatcher.state,
    submitted: ledger.submitted,
    succeeded: ledger.succeeded,
    failed: ledger.failed,
    refused: ledger.refused,
    cancelled: ledger.cancelled,
    expired: ledger.expired,
    queued: ledger.queued,
    running: ledger.running,
    queuedCost: queue.cost,
    oldestWaitMs: queue.length === 0 ? 0 : now - queue.oldestAt,
    refusals: { ...ledger.refusals },
    batches: ledger.batches,
    batchedItems: ledger.batchedItems,
    batchesRunning: running.length,
    reasons: { ...ledger.reasons },
    arrivalsPerSecond: 1000 * arrivals.ratePerMs(now),
    fullBatchMs: curve.predict(Math.min(settings.maxBatchSize, curve.largestCost)),
    curve: curve.points().map(({ cost, durationMs }) => ({ cost, durationMs })),
    backends: settings.backends?.stats() ?? [],
    policyErrors: ledger.policyErrors,
    lastPolicyError: ledger.lastPolicyError,
  };
}
