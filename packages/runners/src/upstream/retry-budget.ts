/**
 * How many calls may be sent a second time. Retries help while few calls fail, and make an upstream that is down
 * work twice when it comes back: so they are a share of all calls, saved up to a few.
 */
const MOST_SAVED = 10;

export class RetryBudget {
  readonly #share: number;
  #saved = MOST_SAVED;

  /** `share`: retries a call, 0.1 for one in ten. */
  constructor(share: number) {
    this.#share = share;
  }

  /** A call was made for the first time. */
  earn(): void {
    this.#saved = Math.min(MOST_SAVED, this.#saved + this.#share);
  }

  /** False when there is none left. */
  spend(): boolean {
    if (this.#saved < 1) return false;
    this.#saved -= 1;
    return true;
  }
}
