/** A sink that records its results and errors. */
import { type BatchRecord, BatchwiseError, type Sink } from 'batchwise';

export class RecordingSink<R> implements Sink<R> {
  readonly results: R[] = [];
  readonly errors: Error[] = [];
  readonly batches: BatchRecord[] = [];
  readonly #onSettled: (() => void) | undefined;

  /** `onSettled` is called from within the sink, at each result and error. */
  constructor(onSettled?: () => void) {
    this.#onSettled = onSettled;
  }

  resolve(result: R, batch: BatchRecord): void {
    this.results.push(result);
    this.batches.push(batch);
    this.#onSettled?.();
  }

  reject(error: Error): void {
    this.errors.push(error);
    this.#onSettled?.();
  }

  get settled(): number {
    return this.results.length + this.errors.length;
  }

  /** `ok`, the Batchwise code, or the message of another error; `pending` before. */
  get fate(): string {
    if (this.results.length > 0) return 'ok';
    const [error] = this.errors;
    if (error === undefined) return 'pending';
    return error instanceof BatchwiseError ? error.code : error.message;
  }
}
