/**
 * Counts the requests of a loop and ends it. Loops that stay in the microtask queue starve timers, so the clock is read
 * instead; only once per `every` requests, because reading it takes as long as a request.
 */
import { medianOf } from '@batchwise/bench-harness';
import { nowMs } from '../stopwatch.js';

export interface Timing {
  readonly warmupMs: number;
  readonly timedMs: number;
}

export interface Metered {
  readonly count: number;
  readonly elapsedMs: number;
  /** In the median slice of the timed part, so that short interruptions by other processes do not count. */
  readonly perSecond: number;
  readonly nsEach: number;
  /** Over the whole timed part. */
  readonly meanPerSecond: number;
}

const SLICE_MS = 50;

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
  #sliceAt = 0;
  #sliceCount = 0;
  readonly #slices: number[] = [];

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

  /** Counts one request; returns false at the end of the timed part. */
  tick(): boolean {
    this.#count += 1;
    return this.#count < this.#checkAt ? !this.#isOver : this.#check();
  }

  #check(): boolean {
    this.#checkAt += this.#every;
    const now = nowMs();
    const elapsedMs = now - this.#startedAt;
    if (!this.#isWarm) {
      if (elapsedMs >= this.#timing.warmupMs) this.#start(now);
    } else if (!this.#isOver) {
      if (now - this.#sliceAt >= SLICE_MS) this.#endSlice(now);
      if (elapsedMs >= this.#timing.timedMs) this.#end(now, elapsedMs);
    }
    return !this.#isOver;
  }

  #start(now: number): void {
    this.#isWarm = true;
    this.#startedAt = now;
    this.#startedCount = this.#count;
    this.#sliceAt = now;
    this.#sliceCount = this.#count;
    this.#onWarm();
  }

  #endSlice(now: number): void {
    this.#slices.push((this.#count - this.#sliceCount) / (now - this.#sliceAt));
    this.#sliceAt = now;
    this.#sliceCount = this.#count;
  }

  #end(now: number, elapsedMs: number): void {
    this.#isOver = true;
    if (this.#slices.length === 0) this.#endSlice(now);
    const count = this.#count - this.#startedCount;
    const perMs = medianOf(this.#slices);
    this.#finish({
      count,
      elapsedMs,
      perSecond: 1000 * perMs,
      nsEach: 1e6 / perMs,
      meanPerSecond: (1000 * count) / elapsedMs,
    });
  }
}
