/** The readings of the last minutes, oldest first. */
import { type Reading, readingOf } from './reading.js';
import type { Scrape } from './scrape.js';

const KEPT_MS = 5 * 60_000;

export class History {
  #readings: Reading[] = [];
  #last: Scrape | undefined = undefined;

  get readings(): readonly Reading[] {
    return this.#readings;
  }

  get latest(): Reading | undefined {
    return this.#readings.at(-1);
  }

  /** Two looks make a reading. */
  add(scrape: Scrape): void {
    const last = this.#last;
    this.#last = scrape;
    if (last === undefined) return;
    this.#readings.push(readingOf(last, scrape));
    const oldest = this.#readings.findIndex(({ at }) => at >= scrape.at - KEPT_MS);
    if (oldest > 0) this.#readings.splice(0, oldest);
  }

  /** Those of the last so many milliseconds. */
  within(ms: number): readonly Reading[] {
    const { latest } = this;
    return latest === undefined ? [] : this.#readings.filter(({ at }) => at > latest.at - ms);
  }
}
