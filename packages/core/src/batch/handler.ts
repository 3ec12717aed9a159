/** The function that does the work, as the user writes it. */
import { describe } from '../errors/describe.js';
import { invalidOption } from '../errors/valid.js';
import type { Reason } from '../policy/policy.js';

/** What a handler is told about the batch it is given. */
export interface BatchContext {
  /** Fires when nobody waits for the answers any more: all callers gone, time-out, destroyed. */
  readonly signal: AbortSignal;
  /** The batcher's name. */
  readonly name: string;
  readonly size: number;
  readonly cost: number;
  /** The cost that the backend pads this batch to: the next of `batchSizes`, or its own. */
  readonly paddedCost: number;
  readonly reason: Reason;
  /** For how long the one of these items has waited that came first. */
  readonly oldestWaitMs: number;
  /** What `groupOf` said of these items. */
  readonly group: unknown;
  /**
   * Answers one item now, before the rest of its batch: with its result, or with an `Error` that fails
   * only this item. Does nothing for an item that has its answer already, or whose caller is gone.
   */
  answer(index: number, result: unknown): void;
  /** Has this called when nobody waits for the item any more, while others still wait for theirs. One listener a batch. */
  onGone(listener: (index: number) => void): void;
  /** What a handler returns that has answered its items one by one. */
  readonly answered: Results<never>;
}

/** As many results as items, in the same order. A result that is an `Error` fails only its item. */
export type Results<R> = readonly (R | Error)[];

/** Stands for the answers that were given one by one. Known by its identity. */
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
    // Looked up at each call, so that a method replaced later (a subclass, a spy) is the one that runs.
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
