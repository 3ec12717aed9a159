/** The handler of a batch, as users write it, and the checks of what it returns. */
import { describe, messageOf } from '../errors/describe.js';
import { BatchwiseError, type BatchwiseErrorOptions } from '../errors/errors.js';
import { invalidOption } from '../errors/valid.js';
import type { Reason } from '../policy/policy.js';

/** The second argument of a handler. */
export interface BatchContext {
  /** Fires when no caller waits for a result any more: all were cancelled or have expired, time-out, `destroy()`. */
  readonly signal: AbortSignal;
  /** The batcher's name. */
  readonly name: string;
  /** The id of the backend that runs the batch; undefined where a handler does. */
  readonly backend?: string | undefined;
  readonly size: number;
  readonly cost: number;
  /** How long the batch is expected to take on its backend; undefined if nothing is known, or where a handler runs it. */
  readonly expectedMs?: number | undefined;
  /** The cost that the backend pads this batch to: the next of `batchSizes`, or its own. */
  readonly paddedCost: number;
  readonly reason: Reason;
  /** How long the oldest of these items has waited. */
  readonly oldestWaitMs: number;
  /** The value of `groupOf` for these items. */
  readonly group: unknown;
  /**
   * Answers one item before the rest of its batch: with its result, or with an `Error` that fails
   * only this item. Does nothing for an item that is answered already, or without a caller that waits for it.
   */
  answer(index: number, result: unknown): void;
  /** Calls the listener when no caller waits for an item any more, while others of the batch still wait. One listener a batch. */
  onGone(listener: (index: number) => void): void;
  /** The return value of a handler that has answered all items by `answer()`. */
  readonly answered: Results<never>;
}

/** As many results as items, in the same order. A result that is an `Error` fails only its item. */
export type Results<R> = readonly (R | Error)[];

/** The value of `context.answered`, recognised by its identity. */
export const ONE_BY_ONE: Results<never> = Object.freeze([]);

/** A typed array as results: a `Float32Array` of as many numbers as items. */
export interface TypedResults<R> extends ArrayLike<R> {
  readonly BYTES_PER_ELEMENT: number;
}

export type Handler<I, R> = (
  items: I[],
  context: BatchContext,
) => PromiseLike<Results<R> | TypedResults<R>> | Results<R> | TypedResults<R>;

export interface HandlerObject<I, R> {
  processBatch: Handler<I, R>;
}

export function validHandler<I, R>(handler: Handler<I, R> | HandlerObject<I, R>): Handler<I, R> {
  if (typeof handler === 'function') return handler;
  if (typeof handler === 'object' && handler !== null && typeof handler.processBatch === 'function') {
    // Looked up at each call, so that a method that is replaced later (subclass, spy) takes effect.
    return (items, context) => handler.processBatch(items, context);
  }
  throw invalidOption(
    `handler: expected a function (items, context) => results, or an object with processBatch(), got ${describe(handler)}.`,
  );
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if (value instanceof Promise) return true;
  const mayBe = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return mayBe && typeof (value as { then?: unknown }).then === 'function';
}

function badResult(message: string, options?: BatchwiseErrorOptions): BatchwiseError {
  return new BatchwiseError('BAD_RESULT', message, options);
}

/** The error for results of a wrong type or length; undefined for valid results. */
export function wrongResults(results: unknown, size: number, name: string): BatchwiseError | undefined {
  try {
    const isArray = Array.isArray(results);
    if ((isArray || isTypedArray(results)) && results.length === size) return undefined;
    if (isArray) ignoreRejections(results);
  } catch {
    // A proxy or a getter that throws is no array of results.
  }
  return badResult(
    `${name}: the handler must return an array of ${size} results, one for each item, in order, but returned ${describe(results)}.`,
  );
}

/** A `DataView` has no length. */
function isTypedArray(value: unknown): value is ArrayLike<unknown> {
  return ArrayBuffer.isView(value) && 'length' in value;
}

/** Prevents unhandled rejections of promises among results that are dropped. */
function ignoreRejections(results: readonly unknown[]): void {
  for (const result of results) if (result instanceof Promise) result.catch(() => {});
}

export function unreadable(thrown: unknown, name: string): BatchwiseError {
  return badResult(`${name}: the result of the item cannot be read: ${messageOf(thrown)}`, { cause: thrown });
}

/** `items.map(async …)` without `Promise.all`: the slot would be free before the work is done. */
export function unawaited(result: PromiseLike<unknown>, name: string): BatchwiseError {
  ignoreRejections([result]);
  return badResult(
    `${name}: the handler returned a promise as the result of an item; return await Promise.all(results) instead.`,
  );
}

/** The handler returned `context.answered` and has not answered all items. */
export function neverAnswered(name: string): BatchwiseError {
  return badResult(
    `${name}: the handler returned context.answered without a call of context.answer() for this item.`,
  );
}

/** `context.answer()` was called with an index that is not in the batch. */
export function wrongIndex(index: unknown, size: number, name: string): BatchwiseError {
  return badResult(
    `${name}: context.answer(index, result): expected a position from 0 to ${size - 1} as index, got ${describe(index)}.`,
  );
}
