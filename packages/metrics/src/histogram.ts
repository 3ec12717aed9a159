import { addCounts, unitedBounds, validBounds } from './buckets.js';
import { Metric, type MetricDefinition } from './metric.js';
import type { HistogramSnapshot } from './metrics-snapshot.js';

export interface HistogramDefinition<Names extends readonly string[]> extends MetricDefinition<Names> {
  /** The upper bounds of the buckets, ascending, without infinity. A child may have more: see `cover`. */
  readonly bounds: readonly number[];
  /** The number of parts per unit in the sum: 1 for integers, a million for seconds. */
  readonly parts: number;
}

/** A distribution of values. */
export class Histogram<Names extends readonly string[]> extends Metric<Names, HistogramChild> {
  readonly #parts: number;

  constructor(definition: HistogramDefinition<Names>, maxLabelSets: number) {
    const { name, bounds, parts } = definition;
    validBounds(name, bounds);
    super(definition, maxLabelSets, () => new HistogramChild(bounds, parts));
    this.#parts = parts;
  }

  snapshot(): HistogramSnapshot {
    const series = this.children.all().map(({ labels, child }) => ({ labels, ...child.buckets() }));
    return { type: 'histogram', ...this.described(), parts: this.#parts, series };
  }
}

export class HistogramChild {
  readonly #parts: number;
  #bounds: Float64Array;
  #counts: Float64Array;
  #sum = 0;
  /** The bucket of the last value, where the next search starts: values of one batch are similar. */
  #at = 0;

  constructor(bounds: readonly number[], parts: number) {
    this.#parts = parts;
    this.#bounds = Float64Array.from(bounds);
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /** Invalid values (negative or not finite) are ignored: metrics must not break the code that measures. */
  observe(value: number): void {
    if (!(value >= 0 && value < Number.POSITIVE_INFINITY)) return;
    const bounds = this.#bounds;
    const counts = this.#counts;
    let at = this.#at;
    while (at > 0 && value <= (bounds[at - 1] as number)) at -= 1;
    while (at < bounds.length && value > (bounds[at] as number)) at += 1;
    this.#at = at;
    counts[at] = (counts[at] as number) + 1;
    this.#sum += Math.round(value * this.#parts);
  }

  /** Adds bounds. Existing bounds and counts are kept. */
  cover(bounds: readonly number[]): void {
    const united = unitedBounds(this.#bounds, bounds);
    if (united.length === this.#bounds.length) return;
    const counts = new Float64Array(united.length + 1);
    addCounts({ bounds: united, counts }, { bounds: this.#bounds, counts: this.#counts });
    this.#bounds = Float64Array.from(united);
    this.#counts = counts;
    this.#at = 0;
  }

  /** The bounds, the count of each bucket, and the sum in parts. */
  buckets(): { bounds: number[]; counts: number[]; sum: number } {
    return { bounds: Array.from(this.#bounds), counts: Array.from(this.#counts), sum: this.#sum };
  }
}
