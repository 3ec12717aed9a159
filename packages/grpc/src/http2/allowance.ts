/** So many at once, and so many a second for long. What is given back does not go beyond the first number. */
export class Allowance {
  readonly #most: number;
  readonly #perSecond: number;
  readonly #now: () => number;
  #left: number;
  #countedAt: number;

  constructor(most: number, perSecond: number, now: () => number) {
    this.#most = most;
    this.#perSecond = perSecond;
    this.#now = now;
    this.#left = most;
    this.#countedAt = now();
  }

  /** False when it is used up. */
  take(): boolean {
    const now = this.#now();
    const earned = ((now - this.#countedAt) * this.#perSecond) / 1000;
    this.#left = Math.min(this.#most, this.#left + earned) - 1;
    this.#countedAt = now;
    return this.#left >= 0;
  }

  giveBack(): void {
    this.#left = Math.min(this.#most, this.#left + 1);
  }
}
