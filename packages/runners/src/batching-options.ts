/** A runner's settings in the words of the batcher. */
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
 * When requests are not put together, each counts as 1 and a batch holds 1, however many rows it has. A
 * call of the backend may take as long as a request: after that nobody waits for it any more.
 */
export function batchingOptions(
  { batching, timeoutMs }: RunnerSettings,
  isBatching: boolean,
): BatchingOptions {
  return {
    maxBatchSize: isBatching ? mostRows(batching) : 1,
    batchSizes: isBatching ? batching.batchSizes : [],
    maxWaitMs: batching.maxWaitMs ?? Number.POSITIVE_INFINITY,
    targetLatencyMs: batching.maxLatencyMs,
    timeoutMs,
    handlerTimeoutMs: timeoutMs,
    maxQueueSize: batching.maxQueueSize,
  };
}

/** −1 says "unlimited", as in the batcher. */
export function mostRows({ maxBatchSize }: BatchingSettings): number {
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

/** The policy to go on with: what it has learned is kept, unless another is asked for. */
export function changedPolicy(before: BatchingSettings, after: BatchingSettings): Policy | undefined {
  const isSame =
    before.policy === after.policy &&
    before.prefer === after.prefer &&
    (after.policy !== 'window' || before.maxWaitMs === after.maxWaitMs);
  return isSame ? undefined : policyOf(after);
}
