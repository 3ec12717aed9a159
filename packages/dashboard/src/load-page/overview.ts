/** The figures above the tabs: of the last seconds while the run goes on, of all of it when it has ended. */
import { count, milliseconds, share } from '../page/numbers.js';
import { Tiles } from '../page/tiles.js';
import type { LoadPagePoint, LoadPageReport, LoadPageRunState } from './page-state.js';

/** Rates are those of the last so many seconds. */
const LATELY_SECONDS = 5;

export class Overview {
  readonly #tiles = new Tiles([
    { label: 'users', title: 'Users that have started and not stopped.' },
    { label: 'in flight', title: 'Requests without a response so far.' },
    { label: 'requests/s', title: 'Of the last 5 seconds; of the whole run when it has ended.' },
    {
      label: 'goodput/s',
      title: 'Successful responses within the target latency, from the intended start.',
    },
    { label: 'failures', title: 'Share of all requests of the run; rejected ones are not failures.' },
    { label: 'rejected', title: 'Share of all requests of the run: HTTP 429, gRPC RESOURCE_EXHAUSTED.' },
    { label: 'p50', title: 'Median latency of the run.' },
    { label: 'p99', title: 'Of the run: one in a hundred successful requests was slower.' },
    { label: 'mean batch', title: 'Mean batch size of a request, from the response headers.' },
  ]);

  get element(): HTMLElement {
    return this.#tiles.element;
  }

  show(state: LoadPageRunState, { total }: LoadPageReport, points: readonly LoadPagePoint[]): void {
    const lately = points.slice(-LATELY_SECONDS);
    const now = points.at(-1);
    const isOver = state === 'ended';
    const rate = (of: (point: LoadPagePoint) => number) =>
      lately.length === 0 ? 0 : lately.reduce((sum, point) => sum + of(point), 0) / lately.length;
    const isAnswered = total.ok > 0;
    this.#tiles.show([
      count(isOver ? 0 : now?.users),
      count(isOver ? 0 : now?.inFlight),
      count(isOver ? total.perSecond : rate(({ ok, rejected, failed }) => ok + rejected + failed)),
      count(isOver ? total.goodPerSecond : rate(({ good }) => good)),
      share(total.failed, total.count),
      share(total.rejected, total.count),
      milliseconds(isAnswered ? total.latency.p50 : undefined),
      milliseconds(isAnswered ? total.latency.p99 : undefined),
      count(total.meanBatchSize),
    ]);
  }
}
