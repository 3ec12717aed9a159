import { Metric, type MetricDefinition } from './metric.js';
import type { CounterSnapshot } from './metrics-snapshot.js';

export interface CounterDefinition<Names extends readonly string[]> extends MetricDefinition<Names> {
  /** The number of counted parts per unit: 1 by default, a million for values in seconds. */
  readonly parts?: number;
}

/** A value that only increases. */
export class Counter<Names extends readonly string[]> extends Metric<Names, CounterChild> {
  readonly #parts: number;

  constructor(definition: CounterDefinition<Names>, maxLabelSets: number) {
    const { parts = 1 } = definition;
    super(definition, maxLabelSets, () => new CounterChild(parts));
    this.#parts = parts;
  }

  snapshot(): CounterSnapshot {
    const series = this.children.all().map(({ labels, child }) => ({ labels, value: child.count }));
    return { type: 'counter', ...this.described(), parts: this.#parts, series };
  }
}

export class CounterChild {
  readonly #parts: number;
  #count = 0;

  constructor(parts: number) {
    this.#parts = parts;
  }

  /** In parts. */
  get count(): number {
    return this.#count;
  }

  /** Invalid values (negative or not finite) are ignored: metrics must not break the code that counts. */
  inc(amount = 1): void {
    if (amount >= 0 && amount < Number.POSITIVE_INFINITY) this.#count += Math.round(amount * this.#parts);
  }
}
