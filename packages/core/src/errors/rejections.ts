/** Errors for items that are rejected, cancelled or expired. */
import { messageOf } from './describe.js';
import { BatchwiseError, type BatchwiseErrorOptions, type ErrorCode } from './errors.js';

const errors = Error as ErrorConstructor & { stackTraceLimit?: number };
const canOmitStack = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')?.writable === true;

/**
 * An error without a stack trace, where the engine allows it. The trace would only point into the library, and capturing
 * it is most of the cost of a rejection.
 */
function rejection(code: ErrorCode, message: string, options: BatchwiseErrorOptions = {}): BatchwiseError {
  if (!canOmitStack || errors.stackTraceLimit === undefined)
    return new BatchwiseError(code, message, options);
  const { stackTraceLimit } = errors;
  errors.stackTraceLimit = 0;
  try {
    return new BatchwiseError(code, message, options);
  } finally {
    errors.stackTraceLimit = stackTraceLimit;
  }
}

export function closedError(name: string): BatchwiseError {
  return rejection('CLOSED', `${name}: the batcher is closed.`);
}

export function unavailableError(
  name: string,
  { message, cause, retryAfterMs }: BatchwiseError,
): BatchwiseError {
  const options = { cause, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  return rejection('UNAVAILABLE', `${name}: ${message}`, options);
}

export function noBackendsError(name: string): BatchwiseError {
  return new BatchwiseError(
    'INVALID_OPTION',
    `${name}: the batcher has a handler. For backends: new Batcher({ backends }).`,
  );
}

export function deadlockError(name: string, concurrency: number): BatchwiseError {
  const slots = concurrency === 1 ? 'the only slot is' : `all ${concurrency} slots are`;
  return new BatchwiseError(
    'DEADLOCK',
    `${name}: the handler awaits a call of its own batcher, and ${slots} taken by batches that do so: none of them would ever end. ` +
      'Use another batcher for the inner call, a higher concurrency, or enqueue() if the handler does not wait for the result.',
  );
}

export function cancelledError(name: string, reason: unknown): BatchwiseError {
  const because = reason === undefined ? '.' : `: ${typeof reason === 'string' ? reason : messageOf(reason)}`;
  return rejection('CANCELLED', `${name}: the call was cancelled${because}`, { cause: reason });
}

export function expiredError(name: string): BatchwiseError {
  return rejection('DEADLINE_EXCEEDED', `${name}: the deadline of the call has passed.`);
}

export function queueFullError(name: string, maxQueueSize: number, retryAfterMs: number): BatchwiseError {
  const message = `${name}: the queue is full (maxQueueSize is ${maxQueueSize}).`;
  return rejection('QUEUE_FULL', message, { retryAfterMs });
}

export function tooLateError(
  name: string,
  expectedMs: number,
  limit: string,
  retryAfterMs: number,
): BatchwiseError {
  const message = `${name}: the predicted latency is ${Math.ceil(expectedMs)} ms, too long for ${limit}.`;
  return rejection('OVERLOADED', message, { retryAfterMs });
}

/** For an item that was admitted and can no longer meet its deadline or the target. */
export function missedDeadlineError(name: string, retryAfterMs: number): BatchwiseError {
  return rejection('OVERLOADED', `${name}: the item can no longer meet its deadline or target latency.`, {
    retryAfterMs,
  });
}

export function tooCostlyError(name: string, cost: number, maxBatchSize: number): BatchwiseError {
  return invalidItem(`${name}: the item's cost (${cost}) exceeds maxBatchSize (${maxBatchSize}).`);
}

export function tooManyError(name: string, items: number, maxQueueSize: number): BatchwiseError {
  return invalidItem(`${name}: a request of ${items} items exceeds maxQueueSize (${maxQueueSize}).`);
}

export function invalidItem(message: string, cause?: unknown): BatchwiseError {
  return new BatchwiseError('INVALID_ITEM', message, cause === undefined ? {} : { cause });
}
