/** What is said to callers who get no answer. */
import { BatchwiseError } from './errors.js';

export function closedError(name: string): BatchwiseError {
  return new BatchwiseError('CLOSED', `${name}: the batcher is closed.`);
}

export function cancelledError(name: string, reason: unknown): BatchwiseError {
  return new BatchwiseError('CANCELLED', `${name}: the call was cancelled.`, { cause: reason });
}

export function expiredError(name: string): BatchwiseError {
  return new BatchwiseError('DEADLINE_EXCEEDED', `${name}: the deadline of the call has passed.`);
}

export function queueFullError(name: string, maxQueueSize: number, retryAfterMs: number): BatchwiseError {
  const message = `${name}: the queue is full (maxQueueSize is ${maxQueueSize}).`;
  return new BatchwiseError('QUEUE_FULL', message, { retryAfterMs });
}

export function tooLateError(
  name: string,
  expectedMs: number,
  limit: string,
  retryAfterMs: number,
): BatchwiseError {
  const message = `${name}: an answer is expected in ${Math.ceil(expectedMs)} ms, too late for ${limit}.`;
  return new BatchwiseError('OVERLOADED', message, { retryAfterMs });
}

/** For those whom the policy lets go because they can no longer make it. */
export function overtakenError(name: string, retryAfterMs: number): BatchwiseError {
  return new BatchwiseError('OVERLOADED', `${name}: no answer can be ready in time any more.`, {
    retryAfterMs,
  });
}

export function tooCostlyError(name: string, cost: number, maxBatchSize: number): BatchwiseError {
  return invalidItem(
    `${name}: an item of cost ${cost} does not fit in a batch of maxBatchSize ${maxBatchSize}.`,
  );
}

export function tooManyError(name: string, items: number, maxQueueSize: number): BatchwiseError {
  return invalidItem(
    `${name}: a request of ${items} items never fits in a queue of maxQueueSize ${maxQueueSize}.`,
  );
}

export function invalidItem(message: string, cause?: unknown): BatchwiseError {
  return new BatchwiseError('INVALID_ITEM', message, cause === undefined ? {} : { cause });
}
