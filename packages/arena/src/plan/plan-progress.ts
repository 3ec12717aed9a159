/** How far a plan is. How many simulations a search takes is not known before, only about. */

export interface PlanProgress {
  readonly doing: string;
  /** Of the whole plan, from 0 to 1: an estimate. */
  readonly share: number;
}

export class ProgressTeller {
  readonly #listener: ((progress: PlanProgress) => void) | undefined;
  #doing = '';
  #from = 0;
  #to = 0;
  #expectedTrials = 1;
  #trials = 0;

  constructor(listener: ((progress: PlanProgress) => void) | undefined) {
    this.#listener = listener;
  }

  /** The next step begins, which takes about so many simulations and leads to this share of the whole. */
  begin(doing: string, to: number, expectedTrials: number): void {
    this.#doing = doing;
    this.#from = this.#to;
    this.#to = Math.max(to, this.#from);
    this.#expectedTrials = expectedTrials;
    this.#trials = 0;
    this.#tell();
  }

  /** One simulation more is done. */
  advance(): void {
    this.#trials += 1;
    this.#tell();
  }

  #tell(): void {
    const done = Math.min(1, this.#trials / this.#expectedTrials);
    this.#listener?.({ doing: this.#doing, share: this.#from + (this.#to - this.#from) * done });
  }
}
