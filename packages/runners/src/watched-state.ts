/** The state of a runner, and those who are told when it changes. */
import type { RunnerState } from './runner.js';

export class WatchedState {
  readonly #listeners = new Set<() => void>();
  #current: RunnerState;
  #problem: string | undefined;

  constructor(first: RunnerState) {
    this.#current = first;
  }

  get current(): RunnerState {
    return this.#current;
  }

  /** Listeners are called for changes only: of the state, or of what is wrong with it. */
  become(state: RunnerState, problem?: string): void {
    if (state === this.#current && problem === this.#problem) return;
    this.#current = state;
    this.#problem = problem;
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
