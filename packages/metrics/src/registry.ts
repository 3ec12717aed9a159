/** The metrics of a process. Code that counts keeps the children; code that exports takes a snapshot. */
import { Counter, type CounterDefinition } from './counter.js';
import { Gauge, type GaugeDefinition } from './gauge.js';
import { Histogram, type HistogramDefinition } from './histogram.js';
import type { MetricSnapshot, MetricsSnapshot } from './metrics-snapshot.js';

interface Shown {
  readonly name: string;
  snapshot(): MetricSnapshot;
}

export interface RegistryOptions {
  /** How many combinations of label values a metric may have. @default 1000 */
  readonly maxLabelSets?: number | undefined;
}

export class Registry {
  readonly #maxLabelSets: number;
  readonly #metrics = new Map<string, Shown>();
  readonly #collectors: (() => void)[] = [];

  constructor({ maxLabelSets = 1000 }: RegistryOptions = {}) {
    this.#maxLabelSets = maxLabelSets;
  }

  counter<const Names extends readonly string[]>(definition: CounterDefinition<Names>): Counter<Names> {
    return this.#add(new Counter(definition, this.#maxLabelSets));
  }

  gauge<const Names extends readonly string[]>(definition: GaugeDefinition<Names>): Gauge<Names> {
    return this.#add(new Gauge(definition, this.#maxLabelSets));
  }

  histogram<const Names extends readonly string[]>(definition: HistogramDefinition<Names>): Histogram<Names> {
    return this.#add(new Histogram(definition, this.#maxLabelSets));
  }

  /** Registers a function that runs before each snapshot and sets values that are read on demand. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  snapshot(): MetricsSnapshot {
    for (const collect of this.#collectors) collect();
    return Array.from(this.#metrics.values(), (metric) => metric.snapshot());
  }

  #add<M extends Shown>(metric: M): M {
    if (this.#metrics.has(metric.name)) throw new TypeError(`the metric ${metric.name} already exists`);
    this.#metrics.set(metric.name, metric);
    return metric;
  }
}
