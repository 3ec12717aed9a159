/** The base of counters, gauges and histograms: a name, and a child per set of label values. */
import { LabelSets, type Overflow } from './label-sets.js';
import { validLabelName, validMetricName } from './metric-name.js';
import type { MetricSnapshot } from './metrics-snapshot.js';

export interface MetricDefinition<Names extends readonly string[]> {
  readonly name: string;
  readonly help: string;
  readonly labels: Names;
}

export type LabelValues<Names extends readonly string[]> = { readonly [K in keyof Names]: string };

export abstract class Metric<Names extends readonly string[], Child> {
  readonly name: string;
  protected readonly help: string;
  protected readonly labelNames: Names;
  protected readonly children: LabelSets<Child>;

  constructor(
    definition: MetricDefinition<Names>,
    maxLabelSets: number,
    make: () => Child,
    overflow: Overflow = 'join',
  ) {
    this.name = validMetricName(definition.name);
    this.help = definition.help;
    for (const label of definition.labels) validLabelName(label);
    this.labelNames = definition.labels;
    this.children = new LabelSets(definition.labels, maxLabelSets, make, overflow);
  }

  /** Returns the child for these label values. Keep it to avoid the lookup. */
  labels(...values: LabelValues<Names>): Child {
    return this.children.get(values as readonly string[]);
  }

  /** Removes the children with these label values. A removed child that is still in use is not exported. */
  remove(values: Readonly<Partial<Record<Names[number], string>>>): void {
    this.children.remove(values);
  }

  abstract snapshot(): MetricSnapshot;

  protected described() {
    return { name: this.name, help: this.help, labelNames: [...this.labelNames] };
  }
}
