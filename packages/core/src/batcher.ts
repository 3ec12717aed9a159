/// <reference lib="esnext.disposable" preserve="true" />
/** The public class, and `batched()`. */

import type { BackendSet } from './backends/backend-set.js';
import { callingBatch } from './batch/async-context.js';
import type { Handler, HandlerObject } from './batch/handler.js';
import { Dispatcher } from './dispatch/dispatcher.js';
import { ManyItems } from './dispatch/many-items.js';
import { submitNested } from './dispatch/nested-calls.js';
import { type BatcherStats, statsOf } from './dispatch/stats.js';
import { describe } from './errors/describe.js';
import { BatchwiseError } from './errors/errors.js';
import { noBackendsError } from './errors/rejections.js';
import { validKeys, validMethods, validMs } from './errors/valid.js';
import type { EnqueueOptions, SubmitOptions } from './options/call-options.js';
import {
  type BackendOptions,
  type BatcherOptions,
  changedSettings,
  type LiveOptions,
  newSettings,
} from './options/options.js';
import type { Resolve, Sink, Ticket } from './queue/entry.js';

export interface CloseOptions {
  /**
   * How long to wait for accepted items. Items that are not settled by then get `CLOSED`.
   * @default Infinity
   */
  readonly timeoutMs?: number | undefined;
}

// `new Promise(capture)` saves a closure for each call.
let captured: Resolve;
const capture = (resolve: Resolve): void => {
  captured = resolve;
};

export class Batcher<I, R> {
  readonly #dispatcher: Dispatcher;

  /** `handler` gets up to `maxBatchSize` items at once and returns as many results, in the same order. */
  constructor(handler: Handler<I, R> | HandlerObject<I, R>, options?: BatcherOptions<I>);
  /** Batches run on `backends`, each with its own slots and speed. */
  constructor(options: BackendOptions<I, R>);
  constructor(
    handler: Handler<I, R> | HandlerObject<I, R> | BackendOptions<I, R>,
    options?: BatcherOptions<I>,
  ) {
    this.#dispatcher = new Dispatcher(newSettings(handler, options));
  }

  /** The backends: add, drain and remove backends, and report their health. */
  get backends(): BackendSet<I, R> {
    const { backends, name } = this.#dispatcher.settings;
    if (backends === undefined) throw noBackendsError(name);
    return backends;
  }

  /** Submits one item. Resolves to its result; rejects with its own error or a `BatchwiseError`. */
  submit(item: I, options?: SubmitOptions): Promise<R> {
    if (callingBatch() !== undefined) return this.#submitNested(item, options);
    const promise = new Promise<unknown>(capture);
    this.#dispatcher.intake.submit(item, captured, options);
    return promise as Promise<R>;
  }

  #submitNested(item: I, options: SubmitOptions | undefined): Promise<R> {
    return submitNested(this.#dispatcher, () => {
      const promise = new Promise<unknown>(capture) as Promise<R>;
      const ticket = this.#dispatcher.intake.submit(item, captured, options);
      return { promise, cancel: (reason) => ticket.cancel(reason) };
    });
  }

  /**
   * Submits several items as one request: all are admitted or none. They may be spread over
   * several batches, and are returned as one array in the same order. When one fails, the request fails
   * with its error, and its unanswered items are cancelled.
   */
  submitMany(items: readonly I[], options?: SubmitOptions): Promise<R[]> {
    if (!Array.isArray(items)) {
      const message = `submitMany(items): expected an array, got ${describe(items)}.`;
      return Promise.reject(new BatchwiseError('INVALID_ITEM', message));
    }
    const request = new ManyItems<I, R>(this.#dispatcher);
    return submitNested(this.#dispatcher, () => ({
      promise: request.submit(items, options),
      cancel: (reason) => request.cancel(reason),
    }));
  }

  /**
   * The level below `submit`: no promise, no signal, and no detection of a handler that waits for itself. The sink is
   * called once, with the result or the error; the ticket cancels. A rejection is reported before this returns.
   */
  enqueue(item: I, sink: Sink<R>, options?: EnqueueOptions): Ticket {
    if (typeof sink?.resolve !== 'function' || typeof sink.reject !== 'function') {
      validMethods('sink', sink, ['resolve', 'reject']);
    }
    // A function would be taken for the `resolve` of a promise.
    const { resolve, reject } = sink;
    const isFunction = typeof sink === 'function';
    const object = isFunction ? { resolve: resolve.bind(sink), reject: reject.bind(sink) } : sink;
    return this.#dispatcher.intake.submit(item, object, options);
  }

  /** A snapshot of counters and learned values. */
  stats(): BatcherStats {
    return statsOf(this.#dispatcher);
  }

  /** How many batches could start now. Cheaper than `stats()`. */
  get freeSlots(): number {
    return this.#dispatcher.placement.freeSlots;
  }

  /** Changes limits or the policy: all given options, or none if one is invalid. */
  configure(options: LiveOptions<I>): void {
    const dispatcher = this.#dispatcher;
    dispatcher.configure(changedSettings(dispatcher.settings, options));
  }

  /** Dispatches all queued items as soon as slots are free, without holding them. */
  flush(): void {
    this.#dispatcher.flush();
  }

  /** Does nothing: a batcher is ready when it is constructed. For compatibility with batchers that are started. */
  start(): this {
    return this;
  }

  /** Rejects new items, finishes accepted ones, and resolves when the last batch has ended. */
  async close(options: CloseOptions = {}): Promise<void> {
    const { timeoutMs = Number.POSITIVE_INFINITY } = validKeys('close(options)', options, ['timeoutMs']);
    return this.#dispatcher.close(validMs('close({ timeoutMs })', timeoutMs));
  }

  /** Rejects all queued and running items with `CLOSED` now. The signals of running handlers fire. */
  destroy(): void {
    this.#dispatcher.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

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
  const submit = (item: I, callOptions?: SubmitOptions) => batcher.submit(item, callOptions);
  return Object.assign(submit, { batcher });
}
