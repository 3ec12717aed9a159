/**
 * How likely something happens next, so long after an event: times are sorted into bins that double in
 * length, and each bin counts how often it happened and how long it could have.
 */
const BINS = 12;
/** The first bin's end, in doublings before the unit. */
const DOUBLINGS_BELOW = 9;
/** About how many events it remembers. */
const MEMORY = 128;

export interface Likelihood {
  readonly chance: number;
  readonly horizonMs: number;
}

export class Hazard {
  readonly #ends: Float64Array;
  readonly #happened = new Float64Array(BINS);
  readonly #happenedMs = new Float64Array(BINS);
  readonly #passedMs = new Float64Array(BINS);

  /** The bins lie around a time that is typical: that of a batch. */
  constructor(unitMs: number) {
    this.#ends = Float64Array.from({ length: BINS }, (_, i) => unitMs * 2 ** (i - DOUBLINGS_BELOW));
    this.#ends[BINS - 1] = Number.POSITIVE_INFINITY;
  }

  /** It could have happened, to `weight` at once, from one time after the event to another. */
  passed(fromMs: number, toMs: number, weight: number): void {
    for (let bin = this.#binOf(fromMs); bin < BINS; bin++) {
      const start = Math.max(fromMs, this.#startOf(bin));
      if (start >= toMs) return;
      const end = Math.min(toMs, this.#ends[bin] as number);
      this.#passedMs[bin] = (this.#passedMs[bin] as number) + weight * (end - start);
    }
  }

  happened(afterMs: number, times: number): void {
    const bin = this.#binOf(afterMs);
    this.#happened[bin] = (this.#happened[bin] as number) + times;
    this.#happenedMs[bin] = (this.#happenedMs[bin] as number) + times * afterMs;
  }

  /** What was learned counts a little less, in favour of what is to come. */
  fade(): void {
    for (let bin = 0; bin < BINS; bin++) {
      this.#happened[bin] = (this.#happened[bin] as number) * (1 - 1 / MEMORY);
      this.#happenedMs[bin] = (this.#happenedMs[bin] as number) * (1 - 1 / MEMORY);
      this.#passedMs[bin] = (this.#passedMs[bin] as number) * (1 - 1 / MEMORY);
    }
  }

  /** The chance that it happens within `horizonMs`, given that it has not for `sinceMs`: no more than is sure. */
  chanceWithin(sinceMs: number, horizonMs: number): number {
    const toMs = sinceMs + horizonMs;
    let expected = 0;
    for (let bin = this.#binOf(sinceMs); bin < BINS; bin++) {
      const start = Math.max(sinceMs, this.#startOf(bin));
      if (start >= toMs) break;
      expected += this.#surely(bin) * (Math.min(toMs, this.#ends[bin] as number) - start);
    }
    return 1 - Math.exp(-expected);
  }

  /**
   * The horizon, from `leastMs` to `mostMs`, within which it is likeliest a millisecond; undefined when it
   * is not to be expected at all. Asked after every batch, so it goes over the bins once.
   */
  likeliest(sinceMs: number, leastMs: number, mostMs: number): Likelihood | undefined {
    const least = Math.max(leastMs, this.#ends[0] as number);
    let best: Likelihood | undefined;
    let expected = 0;
    for (let bin = this.#binOf(sinceMs); bin < BINS - 1; bin++) {
      const end = this.#ends[bin] as number;
      const horizonMs = end - sinceMs;
      if (horizonMs > mostMs) break;
      const more = this.#surely(bin) * (end - Math.max(sinceMs, this.#startOf(bin)));
      expected += more;
      // To wait longer for no more is never better.
      if (horizonMs < least || expected === 0 || (more === 0 && best !== undefined)) continue;
      const chance = 1 - Math.exp(-expected);
      if (best === undefined || chance * best.horizonMs > best.chance * horizonMs)
        best = { chance, horizonMs };
    }
    return best;
  }

  /** Of those that happened within `horizonMs`: after how long, on average. */
  meanWithin(horizonMs: number): number {
    let happened = 0;
    let sumMs = 0;
    for (let bin = 0; bin < BINS && this.#startOf(bin) < horizonMs; bin++) {
      happened += this.#happened[bin] as number;
      sumMs += this.#happenedMs[bin] as number;
    }
    return happened > 0 ? Math.min(horizonMs, Math.max(sumMs / happened, 1e-6)) : horizonMs;
  }

  /** How long to wait for it: to the end of one of the bins ahead. */
  *horizons(sinceMs: number, leastMs: number, mostMs: number): Generator<number> {
    // Not to the end of a bin that is as good as over.
    const least = Math.max(leastMs, this.#ends[0] as number);
    for (let bin = this.#binOf(sinceMs); bin < BINS - 1; bin++) {
      const horizonMs = (this.#ends[bin] as number) - sinceMs;
      if (horizonMs > mostMs) return;
      if (horizonMs >= least) yield horizonMs;
    }
  }

  /** Events a millisecond in a bin: a bound that the true value is hardly below. */
  #surely(bin: number): number {
    const happened = this.#happened[bin] as number;
    const passedMs = this.#passedMs[bin] as number;
    return passedMs > 0 ? Math.max(0, happened - Math.sqrt(happened)) / passedMs : 0;
  }

  #startOf(bin: number): number {
    return bin === 0 ? 0 : (this.#ends[bin - 1] as number);
  }

  #binOf(ms: number): number {
    let bin = 0;
    while (bin < BINS - 1 && ms >= (this.#ends[bin] as number)) bin += 1;
    return bin;
  }
}
