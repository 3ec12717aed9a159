/**
 * Runs the batches of a queue: fetches items when a slot is free, has them batched by the same policies as in the process,
 * and answers them. Holds a lease on what it has fetched.
 */
import type { CloseOptions, Handler, HandlerObject } from 'batchwise';
import { Processing } from './processing.js';
import type { ProcessorNotice, ProcessorStats } from './processor-report.js';
import type { RedisProcessorOptions } from './redis-options.js';

export class RedisProcessor<I, R> {
  readonly #processing: Processing<I, R>;

  constructor(handler: Handler<I, R> | HandlerObject<I, R>, options: RedisProcessorOptions<I>) {
    this.#processing = new Processing(handler, options);
  }

  /** Resolves when Redis is connected and suitable and items are fetched; rejects if Redis is unsuitable. */
  get ready(): Promise<void> {
    return this.#processing.ready;
  }

  /** The name of this processor in `queue status`. */
  get consumer(): string {
    return this.#processing.consumer;
  }

  /** Current statistics. */
  stats(): ProcessorStats {
    return this.#processing.stats();
  }

  /** Calls the listener for events of the processor. */
  onNotice(listener: (notice: ProcessorNotice) => void): void {
    this.#processing.onNotice(listener);
  }

  /**
   * Fetches no items until `resume()`: for a handler that would fail, so that other processors run the items. Running
   * batches complete; other fetched items return to the queue. Resolves when they are there and no further item can
   * arrive.
   */
  pause(): Promise<void> {
    return this.#processing.pause();
  }

  /** Fetches items again. */
  resume(): void {
    this.#processing.resume();
  }

  /** Fetches no more items and completes those that it holds; after the timeout, the rest returns to the queue. */
  close(options: CloseOptions = {}): Promise<void> {
    return this.#processing.close(options);
  }

  /** Stops now: the signals of running handlers fire, and all items return to the queue. */
  destroy(): void {
    this.#processing.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
