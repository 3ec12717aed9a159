/** The seconds of a run that charts show, collected over many responses. */
import type { LoadPagePoint, LoadPageReport, LoadPageRunState } from './page-state.js';

/** Charts show the last hour; the downloads have all of a run. */
const KEPT_SECONDS = 3600;
/** The figures of the last seconds still change, while processes report: they are asked for again. */
const OPEN_SECONDS = 10;
/** The last second of requests is shown when the run has seen so much of it. */
const LEAST_SHARE = 0.5;

export class Series {
  #points: readonly LoadPagePoint[] = [];
  #run = 0;

  get points(): readonly LoadPagePoint[] {
    return this.#points;
  }

  /** The run that is known, and from which second on the next response should have it. */
  get next(): { readonly run: number; readonly since: number } {
    return { run: this.#run, since: Math.max(0, (this.#points.at(-1)?.second ?? 0) - OPEN_SECONDS) };
  }

  add(run: number, points: readonly LoadPagePoint[]): void {
    const known = run === this.#run ? this.#points : [];
    this.#run = run;
    const first = points[0]?.second ?? Number.POSITIVE_INFINITY;
    this.#points = [...known.filter(({ second }) => second < first), ...points].slice(-KEPT_SECONDS);
  }

  /** Without the seconds that some process has not reported, or that the run has seen little of. */
  whole(state: LoadPageRunState, { seconds, generator }: LoadPageReport): readonly LoadPagePoint[] {
    if (state === 'running') {
      const unreported = generator.processes > 1 ? 2 : 1;
      return this.#points.filter(({ second }) => second + unreported <= seconds);
    }
    // After the last request there are the seconds of the last responses.
    return this.#points.filter(({ second }) => second >= seconds || seconds - second >= LEAST_SHARE);
  }

  clear(): void {
    this.#points = [];
    this.#run = 0;
  }
}
