import type { Handler, HandlerObject } from './batch/handler.js';
import { Batcher } from './batcher.js';
import type { SubmitOptions } from './options/call-options.js';
import type { BatcherOptions } from './options/options.js';

/** An async function of one item. */
export interface BatchedFunction<I, R> {
  (item: I, options?: SubmitOptions): Promise<R>;
  readonly batcher: Batcher<I, R>;
}

/** Turns a function over arrays into an async function of one item. */
export function batched<I, R>(
  handler: Handler<I, R> | HandlerObject<I, R>,
  options?: BatcherOptions<I>,
): BatchedFunction<I, R> {
  const batcher = new Batcher(handler, options);
  return Object.assign((item: I, callOptions?: SubmitOptions) => batcher.submit(item, callOptions), {
    batcher,
  });
}
