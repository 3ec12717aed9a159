/**
 * Which items are sent again because their batch was not started. Retries help while few batches fail. Without a limit
 * they would double the load of a backend that recovers from an outage: over all batches they are a share of them, plus
 * what was saved.
 */
import type { Entry } from '../queue/entry.js';

/** Retries per batch. */
const RETRY_SHARE = 0.1;
/** Saved retries: enough for a backend that stops while it runs a few batches. */
const MIN_SAVED = 10;

export class Retries {
  readonly #mostOfItem: number;
  /** How often an item was in a batch that was not started. */
  readonly #attempts = new WeakMap<Entry, number>();
  #saved = Number.POSITIVE_INFINITY;

  constructor(mostOfItem: number) {
    this.#mostOfItem = mostOfItem;
  }

  /** Called at the start of each batch. One retry for each slot may be saved: all of them may fail at one moment. */
  earn(slots: number): void {
    this.#saved = Math.min(Math.max(MIN_SAVED, slots), this.#saved + RETRY_SHARE);
  }

  isRetry(entry: Entry): boolean {
    return this.#attempts.has(entry);
  }

  /** The items of a batch that are sent again. The items of a trial batch always are, because its back-off limits it. */
  of(entries: readonly Entry[], isTrial: boolean): readonly Entry[] {
    if (isTrial) return entries;
    const again = entries.filter((entry) => {
      const attempts = this.#attempts.get(entry) ?? 0;
      this.#attempts.set(entry, attempts + 1);
      return attempts < this.#mostOfItem;
    });
    if (again.length === 0 || this.#saved < 1) return [];
    this.#saved -= 1;
    return again;
  }
}
