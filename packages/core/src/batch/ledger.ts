/**
 * Counts every caller in exactly one column at any instant, and is the only place where callers are settled.
 * submitted = succeeded + failed + refused + cancelled + expired + queued + running.
 */

import { BatchwiseError, type ErrorCode } from '../errors/errors.js';
import { REASONS, type Reason } from '../policy/policy.js';
import type { Entry } from '../queue/entry.js';
import type { RunningBatch } from './running-batch.js';

/** The outcomes of a caller without a result. */
export type Ending = 'failed' | 'refused' | 'cancelled' | 'expired';

export class Ledger {
  submitted = 0;
  succeeded = 0;
  failed = 0;
  refused = 0;
  cancelled = 0;
  expired = 0;
  queued = 0;
  running = 0;

  batches = 0;
  batchedItems = 0;
  policyErrors = 0;
  lastPolicyError: unknown = undefined;
  readonly reasons = Object.fromEntries(REASONS.map((reason) => [reason, 0])) as Record<Reason, number>;
  readonly refusals: Partial<Record<ErrorCode, number>> = {};

  dispatched(batch: RunningBatch): void {
    this.queued -= batch.callers;
    this.running += batch.callers;
    this.batches += 1;
    this.batchedItems += batch.size;
    this.reasons[batch.reason] += 1;
  }

  /** A caller is queued again, because its batch was not started. */
  returned(): void {
    this.running -= 1;
    this.queued += 1;
  }

  /** Settles a caller whose batch has a result for it. */
  succeed(entry: Entry, result: unknown, batch: RunningBatch): void {
    this.running -= 1;
    this.succeeded += 1;
    entry.deliver(result, batch);
  }

  /**
   * Settles a caller whose batch has an error for it: its item's or the batch's. If the handler forwards
   * items to another queue, a rejection there counts as a rejection here.
   */
  fail(entry: Entry, error: Error): void {
    this.running -= 1;
    if (error instanceof BatchwiseError) this.end(entry, endingOf(error.code, 'failed'), error);
    else {
      this.failed += 1;
      entry.fail(error);
    }
  }

  /** Settles a caller that is rejected at admission, or was removed from the queue or its batch. */
  end(entry: Entry, ending: Ending, error: BatchwiseError): void {
    this[ending] += 1;
    if (ending === 'refused') this.#countRejection(error);
    entry.fail(error);
  }

  /** Counts an error of the policy; the batcher falls back to greedy dispatch. */
  policyFailed(error: unknown): void {
    this.policyErrors += 1;
    this.lastPolicyError = error;
  }

  /** Counts a request of several items that was rejected as a whole. */
  rejectMany(items: number, error: BatchwiseError): void {
    this.submitted += items;
    this.refused += items;
    this.#countRejection(error, items);
  }

  #countRejection({ code }: BatchwiseError, items = 1): void {
    this.refusals[code] = (this.refusals[code] ?? 0) + items;
  }
}

/** How an error with this code is counted; `other` is for codes that have no counter of their own. */
export function endingOf(code: ErrorCode, other: Ending): Ending {
  switch (code) {
    case 'QUEUE_FULL':
    case 'OVERLOADED':
      return 'refused';
    case 'DEADLINE_EXCEEDED':
      return 'expired';
    case 'CANCELLED':
      return 'cancelled';
    default:
      return other;
  }
}
