/** Converts the settings of a runner to options of the batcher. */
import { adaptive, greedy, type LiveOptions, type Policy, window } from 'batchwise';
import type { BatchingSettings, RunnerSettings } from './runner-settings.js';

/** The window of `policy: window` when none is set. */
const DEFAULT_WINDOW_MS = 10;

export type BatchingOptions = Pick<
  LiveOptions<unknown>,
  | 'maxBatchSize'
  | 'batchSizes'
  | 'maxWaitMs'
  | 'targetLatencyMs'
  | 'timeoutMs'
  | 'handlerTimeoutMs'
  | 'maxQueueSize'
>;

/**
 * Without batching, each request has cost 1 and a batch contains one request, whatever its number of rows. The
 * handler timeout is the request timeout: after that no caller waits for the result.
 */
export function batchingOptions(
  { batching, timeoutMs }: RunnerSettings,
  isBatching: boolean,
): BatchingOptions {
  return {
    maxBatchSize: isBatching ? maxRowsOf(batching) : 1,
    batchSizes: isBatching ? batching.batchSizes : [],
    maxWaitMs: batching.maxWaitMs ?? Number.POSITIVE_INFINITY,
    targetLatencyMs: batching.targetLatencyMs,
    timeoutMs,
    handlerTimeoutMs: timeoutMs,
    maxQueueSize: batching.maxQueueSize,
  };
}

/** −1 means unlimited, as in the batcher. */
export function maxRowsOf({ maxBatchSize }: BatchingSettings): number {
  return maxBatchSize === -1 ? Number.POSITIVE_INFINITY : maxBatchSize;
}

export function policyOf({ policy, prefer, maxWaitMs }: BatchingSettings): Policy {
  switch (policy) {
    case 'adaptive':
      return adaptive({ prefer });
    case 'greedy':
      return greedy();
    case 'window':
      return window({ maxWaitMs: maxWaitMs ?? DEFAULT_WINDOW_MS });
  }
}

/** The new policy, or undefined to keep the current policy with its learned state. */
export function changedPolicy(before: BatchingSettings, after: BatchingSettings): Policy | undefined {
  const isSame =
    before.policy === after.policy &&
    before.prefer === after.prefer &&
    (after.policy !== 'window' || before.maxWaitMs === after.maxWaitMs);
  return isSame ? undefined : policyOf(after);
}
