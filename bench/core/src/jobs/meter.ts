/**
 * Counts what a loop does and tells it when to stop. Loops that never leave the microtask queue starve
 * timers, so time is not told by one; and reading the clock each time would cost as much as the work,
 * so it is read every so many.
 */
import { nowMs, nsEach } from '../stopwatch.js';

export interface Timing {
  readonly warmupMs: number;
  readonly timedMs: number;
}

export interface Metered {
  readonly count: number;
  readonly elapsedMs: number;
  readonly perSecond: number;
  readonly nsEach: number;
}

export class Meter {
  /** Resolves when the timed part is over. */
  readonly done: Promise<Metered>;

  readonly #timing: Timing;
  readonly #every: number;
  readonly #onWarm: () => void;
  #finish: (metered: Metered) => void = () => {};
  #count = 0;
  #checkAt: number;
  #isWarm = false;
  #isOver = false;
  #startedAt = nowMs();
  #startedCount = 0;

  /** `onWarm` is called when the warm-up is over. */
  constructor(timing: Timing, every = 1024, onWarm: () => void = () => {}) {
    this.#timing = timing;
    this.#every = every;
    this.#checkAt = every;
    this.#onWarm = onWarm;
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** Counts one; false when it is time to stop. */
  tick(): boolean {
    this.#count += 1;
    return this.#count < this.#checkAt ? !this.#isOver : this.#check();
  }

  #check(): boolean {
    this.#checkAt += this.#every;
    const now = nowMs();
    const elapsedMs = now - this.#startedAt;
    if (!this.#isWarm) {
      if (elapsedMs < this.#timing.warmupMs) return true;
      this.#isWarm = true;
      this.#startedAt = now;
      this.#startedCount = this.#count;
      this.#onWarm();
    } else if (!this.#isOver && elapsedMs >= this.#timing.timedMs) {
      this.#isOver = true;
      const count = this.#count - this.#startedCount;
      this.#finish({
        count,
        elapsedMs,
        perSecond: (1000 * count) / elapsedMs,
        nsEach: nsEach(elapsedMs, count),
      });
    }
    return !this.#isOver;
  }
}
