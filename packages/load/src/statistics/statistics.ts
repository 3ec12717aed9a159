/** The intervals of all processes of a run, added up: totals by name, and a series by second. */
import { Histogram, type Percentiles } from './histogram.js';
import type { ArrivalCounts, Interval } from './interval.js';
import { Tally, tallyOf } from './tally.js';

/** One second of a run, all names and processes together. Times in milliseconds, of requests that are ok. */
export interface SeriesPoint {
  readonly second: number;
  readonly users: number;
  readonly inFlight: number;
  readonly connections: number;
  readonly ok: number;
  readonly rejected: number;
  readonly failed: number;
  readonly good: number;
  /** From the actual start. */
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** From the intended start. */
  readonly intendedP99Ms: number;
  readonly intendedMaxMs: number;
  /** Undefined if no response has it. */
  readonly meanBatchSize?: number;
  readonly networkMs?: number;
  readonly queueMs?: number;
  readonly computeMs?: number;
  readonly arrivals: ArrivalCounts;
  /** Of all requests until the end of this second: latencies of those that are ok, from the actual start. */
  readonly soFar: { readonly latency: Percentiles; readonly meanResponseBytes: number };
  /** Of the busiest process. */
  readonly cpuShare: number;
  readonly eventLoopMs: number;
}

/** The most that a trace file may have: what comes later is not kept. */
export const MOST_ARRIVALS = 5_000_000;

/** Processes send the figures of a second at different times: percentiles stay open for this long. */
const OPEN_SECONDS = 5;

/** Without the tallies by name, which are large. */
type OpenInterval = Pick<Interval, 'gauges' | 'arrivals'>;

interface OpenSecond {
  readonly tally: Tally;
  readonly intervals: OpenInterval[];
}

/** All requests until the end of a second. */
class SoFar {
  readonly #latency = new Histogram();
  #requests = 0;
  #responseBytes = 0;

  add({ latency, count, responseBytes }: Tally): void {
    this.#latency.add(latency);
    this.#requests += count;
    this.#responseBytes += responseBytes;
  }

  copy(): SoFar {
    const copy = new SoFar();
    copy.#latency.add(this.#latency);
    copy.#requests = this.#requests;
    copy.#responseBytes = this.#responseBytes;
    return copy;
  }

  figures(): SeriesPoint['soFar'] {
    return {
      latency: this.#latency.percentiles(),
      meanResponseBytes: this.#requests === 0 ? 0 : this.#responseBytes / this.#requests,
    };
  }
}

export class Statistics {
  readonly total = new Tally();
  readonly #byName = new Map<string, Tally>();
  readonly #series: SeriesPoint[] = [];
  readonly #open = new Map<number, OpenSecond>();
  /** Of the seconds that are closed. */
  readonly #soFar = new SoFar();
  #cpuShares: number[] = [];
  #eventLoopMaxMs = 0;
  readonly #arrivalTimes: number[] = [];

  get byName(): ReadonlyMap<string, Tally> {
    return this.#byName;
  }

  get cpuShares(): readonly number[] {
    return this.#cpuShares;
  }

  /** Of a run that keeps them: intended starts in milliseconds since its start, rising. */
  get arrivalTimes(): readonly number[] {
    return this.#arrivalTimes.toSorted((a, b) => a - b);
  }

  get eventLoopMaxMs(): number {
    return this.#eventLoopMaxMs;
  }

  /** Rising by second. The last few still change while processes report. */
  get series(): readonly SeriesPoint[] {
    const soFar = this.#soFar.copy();
    const open = [...this.#open].sort(([a], [b]) => a - b).map(([second, of]) => pointOf(second, of, soFar));
    return [...this.#series, ...open];
  }

  add(interval: Interval): void {
    const last = this.#series.at(-1)?.second ?? -1;
    // A process that is late by more than the open seconds: its figures count in the next open one.
    const second = Math.max(interval.second, last + 1);
    let open = this.#open.get(second);
    if (open === undefined) {
      open = { tally: new Tally(), intervals: [] };
      this.#open.set(second, open);
    }
    open.intervals.push({ gauges: interval.gauges, arrivals: interval.arrivals });
    for (const [name, tally] of interval.tallies) {
      open.tally.add(tally);
      this.total.add(tally);
      tallyOf(this.#byName, name).add(tally);
    }
    this.#cpuShares.push(interval.gauges.cpuShare);
    this.#eventLoopMaxMs = Math.max(this.#eventLoopMaxMs, interval.gauges.eventLoopMs);
    for (const at of interval.arrivalTimes ?? []) {
      if (this.#arrivalTimes.length === MOST_ARRIVALS) break;
      this.#arrivalTimes.push(at);
    }
    this.#close(second - OPEN_SECONDS);
  }

  #close(through: number): void {
    for (const second of [...this.#open.keys()].sort((a, b) => a - b)) {
      if (second > through) return;
      this.#series.push(pointOf(second, this.#open.get(second) as OpenSecond, this.#soFar));
      this.#open.delete(second);
    }
  }
}

/** Adds the second to what was so far. */
function pointOf(second: number, { tally, intervals }: OpenSecond, soFar: SoFar): SeriesPoint {
  soFar.add(tally);
  const sum = (of: (interval: OpenInterval) => number) =>
    intervals.reduce((total, one) => total + of(one), 0);
  const most = (of: (interval: OpenInterval) => number) => Math.max(0, ...intervals.map(of));
  const { latency, intended, sizes } = tally;
  let batched = 0;
  let batchSizes = 0;
  for (const [size, { requests }] of sizes) {
    batched += requests;
    batchSizes += size * requests;
  }
  return {
    second,
    users: sum(({ gauges }) => gauges.users),
    inFlight: sum(({ gauges }) => gauges.inFlight),
    connections: sum(({ gauges }) => gauges.connections),
    ok: tally.ok,
    rejected: tally.rejected,
    failed: tally.failed,
    good: tally.good,
    meanMs: latency.mean,
    p50Ms: latency.percentile(50),
    p95Ms: latency.percentile(95),
    p99Ms: latency.percentile(99),
    maxMs: latency.max,
    intendedP99Ms: intended.percentile(99),
    intendedMaxMs: intended.max,
    ...(batched > 0 && { meanBatchSize: batchSizes / batched }),
    ...(tally.queue.count > 0 && {
      networkMs: tally.network.mean,
      queueMs: tally.queue.mean,
      computeMs: tally.compute.mean,
    }),
    arrivals: {
      due: sum(({ arrivals }) => arrivals.due),
      sent: sum(({ arrivals }) => arrivals.sent),
      notSent: sum(({ arrivals }) => arrivals.notSent),
    },
    soFar: soFar.figures(),
    cpuShare: most(({ gauges }) => gauges.cpuShare),
    eventLoopMs: most(({ gauges }) => gauges.eventLoopMs),
  };
}
