import { addCounts, unitedBounds, validBounds } from './buckets.js';
import { Metric, type MetricDefinition } from './metric.js';
import type { HistogramSnapshot } from './metrics-snapshot.js';

export interface HistogramDefinition<Names extends readonly string[]> extends MetricDefinition<Names> {
  /** The upper bounds of the buckets, rising, without the infinite one. A child may have more: see `cover`. */
  readonly bounds: readonly number[];
  /** What is summed up is kept as so many parts of one: 1 for what is whole, a million for seconds. */
  readonly parts: number;
}

/** How often something was how large. */
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
  /** The bucket of the latest, from where the next is looked for: neighbours in a batch are much alike. */
  #at = 0;

  constructor(bounds: readonly number[], parts: number) {
    this.#parts = parts;
    this.#bounds = Float64Array.from(bounds);
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /** What is not a number from 0 up is ignored: whoever measures is in the middle of something more important. */
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

  /** Adds to its bounds; those it has, and what it has counted, stay. */
  cover(bounds: readonly number[]): void {
    const united = unitedBounds(this.#bounds, bounds);
    if (united.length === this.#bounds.length) return;
    const counts = new Float64Array(united.length + 1);
    addCounts({ bounds: united, counts }, { bounds: this.#bounds, counts: this.#counts });
    this.#bounds = Float64Array.from(united);
    this.#counts = counts;
    this.#at = 0;
  }

  /** The bounds, what fell into each bucket, and the sum in parts. */
  buckets(): { bounds: number[]; counts: number[]; sum: number } {
    return { bounds: Array.from(this.#bounds), counts: Array.from(this.#counts), sum: this.#sum };
  }
}
