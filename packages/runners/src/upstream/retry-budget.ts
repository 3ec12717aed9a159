/**
 * Limits retries to a share of all calls, plus a small saved amount. Retries help while few calls fail. Without a
 * limit they would double the load of an upstream that recovers from an outage.
 */
const MAX_SAVED = 10;

export class RetryBudget {
  readonly #share: number;
  #saved = MAX_SAVED;

  /** `share` is the number of retries per call: 0.1 allows one retry per ten calls. */
  constructor(share: number) {
    this.#share = share;
  }

  /** Called for the first attempt of each call. */
  earn(): void {
    this.#saved = Math.min(MAX_SAVED, this.#saved + this.#share);
  }

  /** Returns false if the budget is used up. */
  spend(): boolean {
    if (this.#saved < 1) return false;
    this.#saved -= 1;
    return true;
  }
}
