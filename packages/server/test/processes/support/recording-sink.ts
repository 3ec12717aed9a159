/** A sink that remembers what it was told, and how often. */
import type { BatchTrace, RunnerSink } from '@batchwise/runners';
import { BatchwiseError } from 'batchwise';

export class RecordingSink implements RunnerSink<unknown> {
  readonly results: unknown[] = [];
  readonly errors: Error[] = [];
  readonly traces: BatchTrace[] = [];

  resolve(result: unknown, trace: BatchTrace): void {
    this.results.push(result);
    this.traces.push(trace);
  }

  reject(error: Error): void {
    this.errors.push(error);
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
