/** Where latency comes from: the network, the queue of the server, the computation; and what batches cost. */
import { BATCH_SIZE, RUN_TIME } from '../page/axis.js';
import { Chart } from '../page/chart.js';
import { element } from '../page/dom.js';
import { milliseconds } from '../page/numbers.js';
import { DataTable } from './data-table.js';
import type { LoadPageBatchSize, LoadPageLatencies, LoadPagePoint, LoadPageReport } from './page-state.js';

interface Part {
  readonly name: string;
  readonly latency: LoadPageLatencies;
}

export class SplitPanel {
  readonly element: HTMLElement;
  readonly #nothing = element(
    'p',
    { className: 'nothing' },
    'No response has queue and compute time in its headers. Batchwise servers send them.',
  );
  readonly #content: HTMLElement;
  #hasSplit = false;
  readonly #time = new Chart<LoadPagePoint>({
    title: 'Mean latency, by part',
    axis: RUN_TIME,
    text: milliseconds,
    lines: [
      { label: 'network', color: 'yellow', of: ({ networkMs }) => networkMs },
      { label: 'queue', color: 'orange', of: ({ queueMs }) => queueMs },
      { label: 'compute', color: 'blue', of: ({ computeMs }) => computeMs },
    ],
  });
  readonly #sizes = new Chart<LoadPageBatchSize>({
    title: 'Mean latency against batch size',
    axis: BATCH_SIZE,
    text: milliseconds,
    hasDots: true,
    lines: [
      { label: 'latency', color: 'violet', of: ({ latencyMs }) => latencyMs },
      { label: 'queue', color: 'orange', isOptional: true, of: this.#ifTold(({ queueMs }) => queueMs) },
      { label: 'compute', color: 'blue', isOptional: true, of: this.#ifTold(({ computeMs }) => computeMs) },
    ],
  });
  readonly #parts = new DataTable<Part>('Latency by part', '', [
    { title: 'Part', kind: 'word', text: ({ name }) => name },
    { title: 'Mean', text: ({ latency }) => milliseconds(latency.mean) },
    { title: 'p50', text: ({ latency }) => milliseconds(latency.p50) },
    { title: 'p95', text: ({ latency }) => milliseconds(latency.p95) },
    { title: 'p99', text: ({ latency }) => milliseconds(latency.p99) },
    { title: 'Max', text: ({ latency }) => milliseconds(latency.max) },
  ]);

  constructor() {
    this.#content = element(
      'div',
      { className: 'stack', hidden: true },
      element('div', { className: 'cards' }, this.#time.element, this.#sizes.element),
      this.#parts.element,
    );
    this.element = element('div', {}, this.#nothing, this.#content);
  }

  show({ total, batchSizes }: LoadPageReport, points: readonly LoadPagePoint[]): void {
    const { split, latency } = total;
    this.#hasSplit = split !== undefined;
    this.#nothing.hidden = this.#hasSplit;
    this.#content.hidden = !this.#hasSplit && batchSizes.length === 0;
    this.#sizes.show(batchSizes);
    this.#time.element.hidden = !this.#hasSplit;
    this.#parts.element.hidden = !this.#hasSplit;
    if (split === undefined) return;
    this.#time.show(points);
    this.#parts.show(
      [
        { name: 'network', latency: split.network },
        { name: 'queue', latency: split.queue },
        { name: 'compute', latency: split.compute },
        { name: 'all', latency },
      ],
      1,
    );
  }

  /** Sizes alone may be known. */
  #ifTold(of: (size: LoadPageBatchSize) => number): (size: LoadPageBatchSize) => number | undefined {
    return (size) => (this.#hasSplit ? of(size) : undefined);
  }
}
