import { Metric, type MetricDefinition } from './metric.js';
import type { GaugeRule, GaugeSnapshot, ValueSeries } from './metrics-snapshot.js';

export interface GaugeDefinition<Names extends readonly string[]> extends MetricDefinition<Names> {
  /** How the gauges of several processes are merged. */
  readonly rule: GaugeRule;
}

/** A current value. */
export class Gauge<Names extends readonly string[]> extends Metric<Names, GaugeChild> {
  readonly #rule: GaugeRule;

  constructor(definition: GaugeDefinition<Names>, maxLabelSets: number) {
    // A sum over several label sets would be wrong, so label sets above the limit are hidden.
    super(definition, maxLabelSets, () => new GaugeChild(), 'hide');
    this.#rule = definition.rule;
  }

  snapshot(): GaugeSnapshot {
    const series: ValueSeries[] = [];
    for (const { labels, child } of this.children.all()) {
      const { value } = child;
      if (value !== undefined) series.push({ labels, value });
    }
    return { type: 'gauge', ...this.described(), rule: this.#rule, series };
  }
}

export class GaugeChild {
  #value: number | undefined;

  /** Undefined while unknown; it is not exported then. */
  get value(): number | undefined {
    return this.#value;
  }

  set(value: number | undefined): void {
    this.#value = Number.isFinite(value) ? value : undefined;
  }
}
