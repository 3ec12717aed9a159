/** Retries per batch. */
const RETRY_SHARE = 0.1;
/** Saved retries: enough for a backend that goes away while it runs a few batches. */
const MIN_SAVED = 10;

/**
 * Limits retries to a share of all batches, plus what was saved. Retries help while few batches fail. Without a limit
 * they would double the load of a backend that recovers from an outage.
 */
export class RetryBudget {
  #saved = Number.POSITIVE_INFINITY;

  /** Called at the start of each batch. One retry for each slot may be saved: all of them may fail at one moment. */
  earn(slots: number): void {
    this.#saved = Math.min(Math.max(MIN_SAVED, slots), this.#saved + RETRY_SHARE);
  }

  /** Returns false if the budget is used up. */
  spend(): boolean {
    if (this.#saved < 1) return false;
    this.#saved -= 1;
    return true;
  }
}
