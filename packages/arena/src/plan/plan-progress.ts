/** Progress of a plan, from the estimated number of simulations per step. */

export interface PlanProgress {
  readonly doing: string;
  /** Estimated share of the whole plan, from 0 to 1. */
  readonly share: number;
}

export class PlanProgressReporter {
  readonly #listener: ((progress: PlanProgress) => void) | undefined;
  #doing = '';
  #from = 0;
  #to = 0;
  #expectedTrials = 1;
  #trials = 0;

  constructor(listener: ((progress: PlanProgress) => void) | undefined) {
    this.#listener = listener;
  }

  /** Begins a step that ends at the share `to` after about `expectedTrials` simulations. */
  begin(doing: string, to: number, expectedTrials: number): void {
    this.#doing = doing;
    this.#from = this.#to;
    this.#to = Math.max(to, this.#from);
    this.#expectedTrials = expectedTrials;
    this.#trials = 0;
    this.#report();
  }

  /** Counts a completed simulation. */
  advance(): void {
    this.#trials += 1;
    this.#report();
  }

  #report(): void {
    const done = Math.min(1, this.#trials / this.#expectedTrials);
    this.#listener?.({ doing: this.#doing, share: this.#from + (this.#to - this.#from) * done });
  }
}
