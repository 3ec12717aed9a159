/** All metrics of a process. Whoever counts keeps the children; whoever asks gets a snapshot of all. */
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

  /** Called before each snapshot, to set what is not counted as it happens but read where it stands. */
  onCollect(collect: () => void): void {
    this.#collectors.push(collect);
  }

  snapshot(): MetricsSnapshot {
    for (const collect of this.#collectors) collect();
    return Array.from(this.#metrics.values(), (metric) => metric.snapshot());
  }

  #add<M extends Shown>(metric: M): M {
    if (this.#metrics.has(metric.name)) throw new TypeError(`there is a metric ${metric.name} already`);
    this.#metrics.set(metric.name, metric);
    return metric;
  }
}
