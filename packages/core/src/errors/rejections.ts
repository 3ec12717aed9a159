/** What is said to callers who get no answer. */
import { messageOf } from './describe.js';
import { BatchwiseError, type BatchwiseErrorOptions, type ErrorCode } from './errors.js';

const errors = Error as ErrorConstructor & { stackTraceLimit?: number };
const canOmitStack = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit')?.writable === true;

/**
 * An error without a stack trace, where the engine lets us. It would show where the library turned the
 * caller away, which the code says already, and taking it is most of the cost of saying no.
 */
function refusal(code: ErrorCode, message: string, options: BatchwiseErrorOptions = {}): BatchwiseError {
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
  return refusal('CLOSED', `${name}: the batcher is closed.`);
}

export function deadlockError(name: string, concurrency: number): BatchwiseError {
  const slots = concurrency === 1 ? 'the only slot is' : `all ${concurrency} slots are`;
  return new BatchwiseError(
    'DEADLOCK',
    `${name}: the handler submits to its own batcher and would wait for itself: ${slots} taken by batches that do so. ` +
      'Use another batcher for the inner call, a higher concurrency, or enqueue() if the handler does not wait for the result.',
  );
}

export function cancelledError(name: string, reason: unknown): BatchwiseError {
  const because = reason === undefined ? '.' : `: ${typeof reason === 'string' ? reason : messageOf(reason)}`;
  return refusal('CANCELLED', `${name}: the call was cancelled${because}`, { cause: reason });
}

export function expiredError(name: string): BatchwiseError {
  return refusal('DEADLINE_EXCEEDED', `${name}: the deadline of the call has passed.`);
}

export function queueFullError(name: string, maxQueueSize: number, retryAfterMs: number): BatchwiseError {
  const message = `${name}: the queue is full (maxQueueSize is ${maxQueueSize}).`;
  return refusal('QUEUE_FULL', message, { retryAfterMs });
}

export function tooLateError(
  name: string,
  expectedMs: number,
  limit: string,
  retryAfterMs: number,
): BatchwiseError {
  const message = `${name}: an answer is expected in ${Math.ceil(expectedMs)} ms, too late for ${limit}.`;
  return refusal('OVERLOADED', message, { retryAfterMs });
}

/** For those whom the policy lets go because they can no longer make it. */
export function overtakenError(name: string, retryAfterMs: number): BatchwiseError {
  return refusal('OVERLOADED', `${name}: no answer can be ready in time any more.`, {
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
