/** How fast items arrive: the mean of the last gaps, the older ones fading. */
export interface ArrivalEstimate {
  /** Items a millisecond, as of `now`; 0 as long as all came at one instant. */
  ratePerMs(now: number): number;
  /** When the latest came; −Infinity before the first. */
  readonly lastAt: number;
  /** How many gaps it has learned from. */
  readonly samples: number;
}

/** So many gaps are few enough to follow traffic that changes, and enough to be off by a tenth only. */
const MEMORY = 128;
/** A gap that is longer than so many usual ones is a pause: after it, traffic goes on as before. */
const LONGEST_GAPS = 64;

export class ArrivalRate implements ArrivalEstimate {
  lastAt = Number.NEGATIVE_INFINITY;
  samples = 0;
  readonly #memory: number;
  #meanGapMs = 0;

  /** `memory`: about how many gaps the mean remembers. */
  constructor(memory = MEMORY) {
    this.#memory = memory;
  }

  /** `count` items came together at `at`. */
  record(count: number, at: number): void {
    if (this.samples > 0 || Number.isFinite(this.lastAt)) {
      this.#learn((at - this.lastAt) / count, count);
    }
    this.lastAt = at;
  }

  ratePerMs(now: number): number {
    if (this.samples === 0) return 0;
    // A silence longer than usual is a gap still in the making, and counts as one.
    const silence = now - this.lastAt;
    const gap =
      this.#meanGapMs + Math.max(0, silence - this.#meanGapMs) / Math.min(this.samples + 1, this.#memory);
    return gap > 0 ? 1 / gap : 0;
  }

  #learn(gapMs: number, times: number): void {
    this.samples += times;
    const weight = Math.min(1, times / Math.min(this.samples, this.#memory));
    this.#meanGapMs += (this.#withoutPause(gapMs) - this.#meanGapMs) * weight;
  }

  #withoutPause(gapMs: number): number {
    const isKnown = this.samples >= this.#memory && this.#meanGapMs > 0;
    return isKnown ? Math.min(gapMs, LONGEST_GAPS * this.#meanGapMs) : gapMs;
  }
}
