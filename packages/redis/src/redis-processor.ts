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

  /** Resolves when Redis was reached, found fit, and items are being fetched; rejects when it is not fit. */
  get ready(): Promise<void> {
    return this.#processing.ready;
  }

  /** What `queue status` calls it. */
  get consumer(): string {
    return this.#processing.consumer;
  }

  /** What is going on, at this instant. */
  stats(): ProcessorStats {
    return this.#processing.stats();
  }

  /** Has this called for what happens besides answers. */
  onNotice(listener: (notice: ProcessorNotice) => void): void {
    this.#processing.onNotice(listener);
  }

  /**
   * Takes nothing until `resume()`, so that other processors do it all: for a handler that knows that it would fail. What
   * runs goes on and is answered; what was fetched and has not begun goes back to the queue. Resolves when it is there,
   * and nothing more can come.
   */
  pause(): Promise<void> {
    return this.#processing.pause();
  }

  /** Takes items again. */
  resume(): void {
    this.#processing.resume();
  }

  /** Fetches nothing more, finishes and answers what it holds; what is not done in time goes back to the queue. */
  close(options: CloseOptions = {}): Promise<void> {
    return this.#processing.close(options);
  }

  /** Stops now: running handlers' signals fire, and all that it holds goes back to the queue. */
  destroy(): void {
    this.#processing.destroy();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
