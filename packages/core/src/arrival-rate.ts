/** How fast items arrive: the mean of the last gaps, the older ones fading. */
export interface ArrivalEstimate {
  /** Items a millisecond, as of `now`; 0 as long as all came at one instant. */
  ratePerMs(now: number): number;
  /** When the latest came; −Infinity before the first. */
  readonly lastAt: number;
}

/** About how many gaps the mean remembers. */
const MEMORY = 128;

export class ArrivalRate implements ArrivalEstimate {
  lastAt = Number.NEGATIVE_INFINITY;
  #meanGapMs = 0;
  #gaps = 0;

  /** `count` items came together at `at`. */
  record(count: number, at: number): void {
    if (this.#gaps > 0 || Number.isFinite(this.lastAt)) {
      this.#learn((at - this.lastAt) / count, count);
    }
    this.lastAt = at;
  }

  ratePerMs(now: number): number {
    if (this.#gaps === 0) return 0;
    // A silence longer than usual is a gap still in the making, and counts as one.
    const silence = now - this.lastAt;
    const gap = this.#meanGapMs + Math.max(0, silence - this.#meanGapMs) / Math.min(this.#gaps + 1, MEMORY);
    return gap > 0 ? 1 / gap : 0;
  }

  #learn(gapMs: number, times: number): void {
    this.#gaps += times;
    const weight = Math.min(1, times / Math.min(this.#gaps, MEMORY));
    this.#meanGapMs += (gapMs - this.#meanGapMs) * weight;
  }
}
