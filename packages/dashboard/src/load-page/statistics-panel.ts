/** The requests by name, and the sum of them. */
import { element } from '../page/dom.js';
import { count, milliseconds } from '../page/numbers.js';
import { type Column, DataTable } from './data-table.js';
import type { LoadPageLatencies, LoadPageReport, LoadPageRequests } from './page-state.js';

type Verdict = LoadPageReport['verdicts'][number];

export class StatisticsPanel {
  readonly element: HTMLElement;
  readonly #requests = new DataTable<LoadPageRequests>('Statistics by name', 'No request has ended yet.', [
    { title: 'Name', kind: 'word', text: ({ name }) => name },
    { title: 'Requests', text: (requests) => whole(requests.count) },
    { title: 'Requests/s', text: ({ perSecond }) => count(perSecond) },
    { title: 'Goodput/s', hint: 'Within the target', text: ({ goodPerSecond }) => count(goodPerSecond) },
    { title: 'Failed', text: ({ failed }) => whole(failed) },
    { title: 'Rejected', hint: 'HTTP 429, gRPC RESOURCE_EXHAUSTED', text: ({ rejected }) => whole(rejected) },
    time('p50', 'Half of the successful requests were quicker', ({ p50 }) => p50),
    time('p95', 'From the actual start', ({ p95 }) => p95),
    time('p99', 'From the actual start', ({ p99 }) => p99),
    {
      title: 'p99 intended',
      hint: 'From the intended start: without coordinated omission',
      text: ({ ok, intended }) => milliseconds(ok > 0 ? intended.p99 : undefined),
    },
    time('Mean', 'From the actual start', ({ mean }) => mean),
    time('Max', 'From the actual start', ({ max }) => max),
    {
      title: 'Bytes',
      hint: 'Mean size of a response',
      text: (requests) => count(requests.meanResponseBytes),
    },
    { title: 'Batch', hint: 'Mean batch size', text: (requests) => count(requests.meanBatchSize) },
    { title: 'Failures/s', text: ({ failedPerSecond }) => count(failedPerSecond) },
    time('Min', 'From the actual start', ({ min }) => min),
  ]);
  readonly #verdicts = new DataTable<Verdict>('Thresholds', '', [
    { title: 'Fails if', kind: 'word', text: ({ rule }) => rule },
    { title: 'Value', text: ({ value }) => value },
    {
      title: 'Verdict',
      kind: 'word',
      text: ({ isBroken }) => (isBroken ? 'failed' : 'passed'),
    },
  ]);

  constructor() {
    this.element = element('div', { className: 'stack' }, this.#requests.element, this.#verdicts.element);
  }

  show({ requests, total, verdicts }: LoadPageReport): void {
    this.#requests.show(total.count === 0 ? [] : [...requests, total], 1);
    this.#verdicts.show(verdicts);
    this.#verdicts.element.hidden = verdicts.length === 0;
  }
}

function time(
  title: string,
  hint: string,
  of: (latency: LoadPageLatencies) => number,
): Column<LoadPageRequests> {
  return { title, hint, text: ({ ok, latency }) => milliseconds(ok > 0 ? of(latency) : undefined) };
}

/** Counts are exact. */
function whole(value: number): string {
  return value.toLocaleString('en');
}
