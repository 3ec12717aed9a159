/** The state of a runner, and those who are told when it changes. */
import type { RunnerState } from './runner.js';

export class WatchedState {
  readonly #listeners = new Set<() => void>();
  #current: RunnerState;

  constructor(first: RunnerState) {
    this.#current = first;
  }

  get current(): RunnerState {
    return this.#current;
  }

  /** Nobody is told of what is not a change. */
  become(state: RunnerState): void {
    if (state === this.#current) return;
    this.#current = state;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Returns a function that ends it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
