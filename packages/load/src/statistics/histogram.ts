/** Latencies in an HDR histogram: from 1 µs to an hour, each value within 0.1 %. */
import {
  build,
  decodeFromCompressedBase64,
  encodeIntoCompressedBase64,
  type Histogram as Hdr,
  JsHistogram,
} from 'hdr-histogram-js';

const LONGEST_US = 3_600_000_000;

/** The percentiles of Locust's CSV files, and the mean. In milliseconds. */
export interface Percentiles {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly p50: number;
  readonly p66: number;
  readonly p75: number;
  readonly p80: number;
  readonly p90: number;
  readonly p95: number;
  readonly p98: number;
  readonly p99: number;
  readonly p999: number;
  readonly p9999: number;
  readonly max: number;
}

export class Histogram {
  /** Made with the first value: it has 94 KB, and most of the histograms of a second stay empty. */
  #hdr: Hdr | undefined;
  /** Exact, unlike the buckets. In milliseconds. */
  #sum = 0;
  #min = Number.POSITIVE_INFINITY;
  #max = 0;

  constructor(hdr?: Hdr) {
    this.#hdr = hdr;
  }

  get count(): number {
    return this.#hdr?.totalCount ?? 0;
  }

  get sum(): number {
    return this.#sum;
  }

  get mean(): number {
    return this.count === 0 ? 0 : this.#sum / this.count;
  }

  get max(): number {
    return this.#max;
  }

  record(ms: number): void {
    const us = Math.round(ms * 1000);
    this.#hdr ??= newHdr();
    this.#hdr.recordValue(us < 1 ? 1 : us > LONGEST_US ? LONGEST_US : us);
    this.#sum += ms;
    if (ms < this.#min) this.#min = ms;
    if (ms > this.#max) this.#max = ms;
  }

  /** From 0 to 100; 0 where nothing is recorded. Never above the largest recorded value. */
  percentile(percent: number): number {
    if (this.#hdr === undefined || this.count === 0) return 0;
    if (percent >= 100) return this.#max;
    return Math.min(this.#hdr.getValueAtPercentile(percent) / 1000, this.#max);
  }

  percentiles(): Percentiles {
    const next = this.#rising();
    return {
      count: this.count,
      mean: this.mean,
      min: this.count === 0 ? 0 : this.#min,
      p50: next(50),
      p66: next(66),
      p75: next(75),
      p80: next(80),
      p90: next(90),
      p95: next(95),
      p98: next(98),
      p99: next(99),
      p999: next(99.9),
      p9999: next(99.99),
      max: this.#max,
    };
  }

  /**
   * `percentile()` for percentiles that rise from call to call, in one pass over the buckets. A report has a hundred
   * of them, and is made once a second by the process that measures: with ten names, 3 ms of CPU instead of 13.
   */
  #rising(): (percent: number) => number {
    const hdr = this.#hdr;
    if (this.count === 0 || !(hdr instanceof JsHistogram)) return (percent) => this.percentile(percent);
    let index = -1;
    let upToIndex = 0;
    return (percent) => {
      const exactRank = (percent / 100) * this.count;
      // A product that is a rounding error above a whole number is that number.
      const rank = Math.max(1, Math.ceil(exactRank - exactRank * Number.EPSILON));
      while (upToIndex < rank) upToIndex += hdr.getCountAtIndex(++index);
      return Math.min(hdr.highestEquivalentValue(hdr.valueFromIndex(index)) / 1000, this.#max);
    };
  }

  /** Exact: the counts of the buckets are added. */
  add(other: Histogram): void {
    if (other.#hdr === undefined || other.count === 0) return;
    this.#hdr ??= newHdr();
    this.#hdr.add(other.#hdr);
    this.#sum += other.#sum;
    this.#min = Math.min(this.#min, other.#min);
    this.#max = Math.max(this.#max, other.#max);
  }

  reset(): void {
    if (this.count === 0) return;
    this.#hdr?.reset();
    this.#sum = 0;
    this.#min = Number.POSITIVE_INFINITY;
    this.#max = 0;
  }

  /** For another process; undefined where nothing is recorded. */
  encode(): EncodedHistogram | undefined {
    if (this.#hdr === undefined || this.count === 0) return undefined;
    return [encodeIntoCompressedBase64(this.#hdr), this.#sum, this.#min, this.#max];
  }

  static decode(encoded: EncodedHistogram | undefined): Histogram {
    if (encoded === undefined) return new Histogram();
    const [text, sum, min, max] = encoded;
    const decoded = new Histogram(decodeFromCompressedBase64(text, 32));
    decoded.#sum = sum;
    decoded.#min = min;
    decoded.#max = max;
    return decoded;
  }
}

function newHdr(): Hdr {
  return build({
    bitBucketSize: 32,
    lowestDiscernibleValue: 1,
    highestTrackableValue: LONGEST_US,
    numberOfSignificantValueDigits: 3,
  });
}

export type EncodedHistogram = readonly [base64: string, sum: number, min: number, max: number];
