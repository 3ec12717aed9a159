import type { BatchTrace, RunnerSink } from '@batchwise/runners';

interface Scope {
  closed(trace: BatchTrace | undefined): void;
}

/** The promise of one runner call, and the sink that keeps it. */
export class RunnerAnswer<R> implements RunnerSink<unknown> {
  readonly promise: Promise<R>;
  isSettled = false;
  readonly #scope: Scope;
  readonly #resultOf: (answer: unknown) => R;
  #resolve!: (result: R) => void;
  #reject!: (error: unknown) => void;

  constructor(scope: Scope, resultOf: (answer: unknown) => R) {
    this.#scope = scope;
    this.#resultOf = resultOf;
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  resolve(answer: unknown, trace: BatchTrace): void {
    if (this.#settle(trace)) return;
    try {
      this.#resolve(this.#resultOf(answer));
    } catch (error) {
      this.#fail(error);
    }
  }

  reject(error: unknown): void {
    if (this.#settle(undefined)) return;
    this.#fail(error);
  }

  /** True when it was settled before. */
  #settle(trace: BatchTrace | undefined): boolean {
    if (this.isSettled) return true;
    this.isSettled = true;
    this.#scope.closed(trace);
    return false;
  }

  /** A handler may have asked and not be waiting yet, or no more: the process is not to die of that. */
  #fail(error: unknown): void {
    this.promise.catch(() => {});
    this.#reject(error);
  }
}
