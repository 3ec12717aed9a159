/** What is asked from outside, and what becomes of it. */
import { TIME_OF_DAY } from './axis.js';
import { Chart, type Line } from './chart.js';
import { element } from './dom.js';
import type { History } from './history.js';
import { count, milliseconds } from './numbers.js';
import { OUTCOMES, type Outcome, type Reading } from './reading.js';
import { Tiles } from './tiles.js';

const COLORS: Readonly<Record<Outcome, string>> = {
  ok: 'blue',
  refused: 'orange',
  invalid: 'violet',
  late: 'yellow',
  cancelled: 'muted',
  unavailable: 'pink',
  failed: 'red',
};

export class RequestsPanel {
  readonly element: HTMLElement;
  readonly #tiles = new Tiles([
    { label: 'requests/s' },
    { label: 'p50', title: 'Median latency of successful requests.' },
    { label: 'p99', title: '99th percentile of the latency of successful requests.' },
    { label: 'in flight', title: 'Requests without a response so far.' },
    { label: 'rejected/s', title: 'Requests rejected with 429: overload or a full queue.' },
    { label: 'failed/s', title: 'Requests that were late, unavailable or failed: responses 5xx.' },
  ]);
  readonly #charts: readonly Chart<Reading>[];

  constructor() {
    const rates = OUTCOMES.map(
      (outcome): Line<Reading> => ({
        label: outcome,
        color: COLORS[outcome],
        of: ({ requests }) => requests.byOutcome[outcome],
      }),
    );
    const times: Line<Reading>[] = [
      { label: 'p50', color: 'blue', of: ({ requests }) => requests.times.p50Ms },
      { label: 'p90', color: 'violet', of: ({ requests }) => requests.times.p90Ms },
      { label: 'p99', color: 'red', of: ({ requests }) => requests.times.p99Ms },
    ];
    this.#charts = [
      new Chart({ title: 'Requests per second by outcome', axis: TIME_OF_DAY, lines: rates, text: count }),
      new Chart({
        title: 'Latency of successful requests',
        axis: TIME_OF_DAY,
        lines: times,
        text: milliseconds,
      }),
    ];
    const charts = element('div', { className: 'cards' }, ...this.#charts.map((chart) => chart.element));
    this.element = element('section', {}, element('h2', {}, 'Requests'), this.#tiles.element, charts);
  }

  show({ readings, latest }: History): void {
    if (latest === undefined) return;
    const { perSecond, byOutcome, times, inFlight } = latest.requests;
    const { late, unavailable, failed } = byOutcome;
    this.#tiles.show([
      count(perSecond),
      milliseconds(times.p50Ms),
      milliseconds(times.p99Ms),
      count(inFlight),
      count(byOutcome.refused),
      count(late + unavailable + failed),
    ]);
    for (const chart of this.#charts) chart.show(readings);
  }
}
