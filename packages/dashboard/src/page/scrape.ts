/** One look at the metrics of a server, and what can be asked of it. */
import { type Exposition, numberOf, parseExposition, type Sample } from './exposition.js';
import { EMPTY, type Histogram } from './histogram.js';

export type Labels = Readonly<Record<string, string>>;
/** Whether requests for a route count. */
export type RouteFilter = (route: string) => boolean;

export class Scrape {
  /** Milliseconds on the clock of the page. */
  readonly at: number;
  readonly #samples: Exposition;

  constructor(at: number, text: string) {
    this.at = at;
    this.#samples = parseExposition(text);
  }

  /** The sum of all that have these labels; 0 when there are none. */
  sum(name: string, labels: Labels = {}, isCounted?: RouteFilter): number {
    let sum = 0;
    for (const sample of this.#matching(name, labels, isCounted)) sum += sample.value;
    return sum;
  }

  /** All values of a label, in the order of the text. */
  valuesOf(name: string, label: string): string[] {
    const values = new Set<string>();
    for (const { labels } of this.#samples.get(name) ?? []) {
      const value = labels.get(label);
      if (value !== undefined) values.add(value);
    }
    return [...values];
  }

  /** What is known for each value of a label, in the order of the text. */
  byLabel(name: string, label: string, labels: Labels): Map<string, number> {
    const found = new Map<string, number>();
    for (const sample of this.#matching(name, labels)) {
      const key = sample.labels.get(label) ?? '';
      found.set(key, (found.get(key) ?? 0) + sample.value);
    }
    return found;
  }

  histogram(name: string, labels: Labels = {}, isCounted?: RouteFilter): Histogram {
    const cumulative = new Map<number, number>();
    for (const sample of this.#matching(`${name}_bucket`, labels, isCounted)) {
      const bound = numberOf(sample.labels.get('le') ?? '');
      cumulative.set(bound, (cumulative.get(bound) ?? 0) + sample.value);
    }
    if (cumulative.size === 0) return EMPTY;
    const bounds = [...cumulative.keys()].sort((a, b) => a - b);
    const upTo = bounds.map((bound) => cumulative.get(bound) as number);
    return {
      bounds,
      counts: upTo.map((count, i) => count - (upTo[i - 1] ?? 0)),
      count: upTo.at(-1) as number,
      sum: this.sum(`${name}_sum`, labels, isCounted),
    };
  }

  *#matching(name: string, labels: Labels, isCounted: RouteFilter = () => true): Iterable<Sample> {
    const wanted = Object.entries(labels);
    for (const sample of this.#samples.get(name) ?? []) {
      const isWanted = wanted.every(([label, value]) => sample.labels.get(label) === value);
      if (isWanted && isCounted(sample.labels.get('route') ?? '')) yield sample;
    }
  }
}
