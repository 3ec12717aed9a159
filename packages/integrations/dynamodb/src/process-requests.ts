/**
 * Sends requests until DynamoDB has processed them all: what it leaves unprocessed is sent again after a back-off, and
 * a request that it rejects because of one item is split until only that item fails.
 */
import { pause } from '@batchwise/aws';
import { type BatchContext, BatchwiseError, type Clock } from 'batchwise';
import { failureOf, itemError, verdictOn } from './service-error.js';

/** One operation on one table, as a batch needs it. */
export interface Operation<T> {
  readonly name: string;
  readonly clock: Clock;
  /** Sends one request, answers the callers of what was processed, and returns the rest. */
  send(requests: readonly T[], signal: AbortSignal): Promise<readonly T[]>;
}

/** A key or a write, with the positions of its callers in the batch. */
export interface Request {
  readonly positions: readonly number[];
}

/**
 * Back-off: half of the delay is fixed, half is random, so that clients throttled together do not return together.
 * 50 ms is the base that the SDK uses; at 2 s a table with one unit of capacity has processed two items.
 */
const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 2000;

/** Attempts in a row in which DynamoDB processes nothing at all, about 10 s, after which the callers are told. */
const MAX_VAIN_ATTEMPTS = 10;

/** Which callers of a batch still wait for an answer. */
export class Callers {
  readonly context: BatchContext;
  readonly #gone = new Set<number>();

  constructor(context: BatchContext) {
    this.context = context;
    context.onGone((position) => this.#gone.add(position));
  }

  answer({ positions }: Request, result: unknown): void {
    for (const position of positions) this.context.answer(position, result);
  }

  /** Fails the one caller whose item is not even sent. */
  reject(position: number, thrown: unknown): void {
    this.context.answer(position, itemError(thrown, this.context.name));
  }

  stillWait({ positions }: Request): boolean {
    return !this.context.signal.aborted && positions.some((position) => !this.#gone.has(position));
  }
}

export async function processRequests<T extends Request>(
  requests: readonly T[],
  operation: Operation<T>,
  callers: Callers,
): Promise<void> {
  const isWanted = (request: T) => callers.stillWait(request);
  let pending = requests.filter(isWanted);
  let vainAttempts = 0;
  for (let attempt = 0; pending.length > 0; attempt++) {
    const { unprocessed, throttle } = await sendIsolated(pending, operation, callers);
    vainAttempts = unprocessed.length < pending.length ? 0 : vainAttempts + 1;
    const delayMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt);
    if (vainAttempts === MAX_VAIN_ATTEMPTS) {
      const error = throttledError(operation.name, delayMs, throttle);
      for (const request of unprocessed) callers.answer(request, error);
      return;
    }
    if (unprocessed.length === 0) return;
    await pause(operation.clock, callers.context.signal, (resume) =>
      operation.clock.setTimer(resume, (delayMs * (1 + Math.random())) / 2),
    );
    pending = unprocessed.filter(isWanted);
  }
}

interface Sent<T> {
  readonly unprocessed: readonly T[];
  /** What DynamoDB said, if it processed nothing because of a limit. */
  readonly throttle?: unknown;
}

async function sendIsolated<T extends Request>(
  requests: readonly T[],
  operation: Operation<T>,
  callers: Callers,
): Promise<Sent<T>> {
  try {
    return { unprocessed: await operation.send(requests, callers.context.signal) };
  } catch (thrown) {
    const verdict = verdictOn(thrown);
    if (verdict === 'throttled') return { unprocessed: requests, throttle: thrown };
    if (verdict === 'invalid item' && requests.length > 1) {
      const middle = requests.length >> 1;
      const first = await sendIsolated(requests.slice(0, middle), operation, callers);
      const second = await sendIsolated(requests.slice(middle), operation, callers);
      return {
        unprocessed: [...first.unprocessed, ...second.unprocessed],
        throttle: first.throttle ?? second.throttle,
      };
    }
    const error =
      verdict === 'failed' ? failureOf(thrown, operation.name) : itemError(thrown, operation.name);
    for (const request of requests) callers.answer(request, error);
    return { unprocessed: [] };
  }
}

function throttledError(name: string, retryAfterMs: number, cause: unknown): BatchwiseError {
  const message = `${name}: DynamoDB has not processed the item in ${MAX_VAIN_ATTEMPTS} attempts; the table's capacity is exceeded.`;
  return new BatchwiseError('OVERLOADED', message, {
    retryAfterMs,
    ...(cause === undefined ? {} : { cause }),
  });
}
