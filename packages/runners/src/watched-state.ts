/** The state of a runner, with listeners for changes. */
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

  /** Listeners are called only if the state or the problem has changed. */
  become(state: RunnerState, problem?: string): void {
    if (state === this.#current && problem === this.#problem) return;
    this.#current = state;
    this.#problem = problem;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Returns a function that removes the listener. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}
