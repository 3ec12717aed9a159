import { Metric, type MetricDefinition } from './metric.js';
import type { GaugeRule, GaugeSnapshot, ValueSeries } from './metrics-snapshot.js';

export interface GaugeDefinition<Names extends readonly string[]> extends MetricDefinition<Names> {
  /** What the gauges of several processes make together. */
  readonly rule: GaugeRule;
}

/** How something stands now. */
export class Gauge<Names extends readonly string[]> extends Metric<Names, GaugeChild> {
  readonly #rule: GaugeRule;

  constructor(definition: GaugeDefinition<Names>, maxLabelSets: number) {
    // How several things stand is not how one does: what is beyond the bound is not shown.
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

  /** Undefined while it is not known; it is not shown then. */
  get value(): number | undefined {
    return this.#value;
  }

  set(value: number | undefined): void {
    this.#value = Number.isFinite(value) ? value : undefined;
  }
}
