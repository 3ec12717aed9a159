/** Where batches run, as users describe it, and the one place where that is checked. */
import type { BatchContext, Handler, Results, TypedResults } from '../batch/handler.js';
import { describe } from '../errors/describe.js';
import { invalidOption, validCount, validFunction, validObject, validString } from '../errors/valid.js';

/** One of several places where the batches of a batcher run: a process, a device, a remote server. */
export interface Backend<I, R> {
  /** Names the backend in statistics, decisions and errors. */
  readonly id: string;
  /** How many batches it runs at a time, 1 to Infinity. */
  readonly slots: number;
  /**
   * Runs a batch, as a handler does. What it rejects with says something about the backend:
   * `UNAVAILABLE`, `HANDLER_TIMEOUT` and `DEADLINE_EXCEEDED` count as failures of the backend; with
   * `notStarted: true` the items go back to the head of the queue. A `BatchwiseError` other than
   * `INVALID_ITEM` is passed on to every caller of the batch as it is.
   */
  run(
    items: I[],
    context: BatchContext,
  ): PromiseLike<Results<R> | TypedResults<R>> | Results<R> | TypedResults<R>;
  /**
   * Resolves when the backend can take batches. Where it exists, it decides after a back-off instead of a
   * trial batch.
   */
  probe?(): PromiseLike<unknown>;
}

export function validBackend<I, R>(where: string, value: unknown): Backend<I, R> {
  const { id, slots, run, probe } = validObject(where, value);
  validString(`${where}.id`, id);
  validCount(`${where}.slots`, slots);
  validFunction(`${where}.run`, run);
  if (probe !== undefined) validFunction(`${where}.probe`, probe);
  return value as Backend<I, R>;
}

export function validBackends<I, R>(value: unknown): readonly Backend<I, R>[] {
  if (!Array.isArray(value)) {
    throw invalidOption(
      `backends: expected a list of { id, slots, run } or a BackendSet, got ${describe(value)}.`,
    );
  }
  return value.map((backend, i) => validBackend<I, R>(`backends[${i}]`, backend));
}

/** Looked up at each call, so that a method replaced later (a subclass, a spy) is the one that runs. */
export function handlerOf<I, R>(backend: Backend<I, R>): Handler<I, R> {
  return (items, context) => backend.run(items, context);
}
