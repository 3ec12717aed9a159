/** The sink of one call as a promise that an `AbortSignal` can cancel. */
import { BatchwiseError, type EnqueueOptions } from 'batchwise';
import type { Runner, RunnerSink, RunnerTicket } from './runner.js';

export class PromisedAnswer<R> implements RunnerSink<R> {
  readonly #name: string;
  readonly #signal: AbortSignal | undefined;
  #ticket: RunnerTicket | undefined = undefined;
  #isSettled = false;
  #resolve: ((result: R) => void) | undefined = undefined;
  #reject: ((error: Error) => void) | undefined = undefined;

  constructor(name: string, signal: AbortSignal | undefined) {
    this.#name = name;
    this.#signal = signal;
  }

  /** Submits the item. Call it once. */
  of<I>(runner: Runner<I, R>, item: I, options: EnqueueOptions | undefined): Promise<R> {
    const promise = new Promise<R>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    if (this.#signal?.aborted) {
      const { reason } = this.#signal;
      const message = `${this.#name}: the call was cancelled before it was sent.`;
      this.reject(new BatchwiseError('CANCELLED', message, { cause: reason }));
      return promise;
    }
    this.#signal?.addEventListener('abort', this);
    this.#ticket = runner.enqueue(item, this, options);
    return promise;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  cancel(reason: unknown): void {
    if (!this.#isSettled) this.#ticket?.cancel(reason);
  }

  /** The listener of the signal. */
  handleEvent(): void {
    this.cancel(this.#signal?.reason);
  }

  resolve(result: R): void {
    this.#settle();
    this.#resolve?.(result);
  }

  reject(error: Error): void {
    this.#settle();
    this.#reject?.(error);
  }

  #settle(): void {
    this.#isSettled = true;
    this.#signal?.removeEventListener('abort', this);
  }
}
