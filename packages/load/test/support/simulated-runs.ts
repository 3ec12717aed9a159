/** Runs on virtual time against a simulated server: `startRun` for tests of searches, thousands of requests a millisecond. */
import { randomStream } from '@batchwise/arena';
import type { Clock } from 'batchwise';
import type { LoadReport } from '../../src/report/load-report.js';
import type { LoadRun, RunSpec } from '../../src/run/load-run.js';
import type { SeriesPoint } from '../../src/statistics/statistics.js';

export interface Served {
  readonly endedAt: number;
  readonly kind?: 'rejected' | 'failed';
}

/** Serves arrivals in the order of time, beginning idle. `random` differs from run to run. */
export type Server = (arrivals: readonly number[], random: () => number, spec: RunSpec) => Served[];

export interface SimulatedGenerator {
  /** The most arrivals a second that it can send. */
  readonly mostPerSecond?: number;
  readonly endsAtOnce?: boolean;
  readonly cpuShare?: (perSecond: number) => number;
}

/** Goes on by itself whenever something waits. */
export class SteppingClock implements Clock {
  #now = 0;

  now(): number {
    return this.#now;
  }

  setTimer(callback: () => void, delayMs: number): unknown {
    const timer = { isSet: true };
    queueMicrotask(() => {
      if (!timer.isSet) return;
      this.#now += delayMs;
      callback();
    });
    return timer;
  }

  clearTimer(timer: unknown): void {
    if (timer !== undefined) (timer as { isSet: boolean }).isSet = false;
  }

  defer(callback: () => void): void {
    queueMicrotask(callback);
  }
}

export class SimulatedRuns {
  readonly specs: RunSpec[] = [];
  /** How long the target was under load, in virtual seconds. */
  seconds = 0;
  inFlightAtStart = 0;
  readonly #clock: Clock;
  readonly #server: Server;
  readonly #generator: SimulatedGenerator;
  readonly #seed: number;
  readonly #endsAtOnce: boolean;
  #busy = 0;

  constructor(clock: Clock, server: Server, seed = 1, generator: SimulatedGenerator = {}) {
    this.#clock = clock;
    this.#server = server;
    this.#seed = seed;
    this.#endsAtOnce = generator.endsAtOnce ?? false;
    this.#generator = generator;
  }

  readonly startRun = async (spec: RunSpec): Promise<LoadRun> => {
    if (this.#busy > 0) this.inFlightAtStart++;
    this.#busy++;
    this.specs.push(spec);
    const seconds = spec.seconds ?? 0;
    const arrivals = arrivalsOf(spec, this.#generator.mostPerSecond);
    const random = randomStream(this.#seed + this.specs.length, 'server');
    const served = this.#server(arrivals, random, spec);
    const startedAt = this.#clock.now();
    let endedAfter: number | undefined;
    let tellEnd: (report: LoadReport) => void = () => {};
    const ended = new Promise<LoadReport>((resolve) => {
      tellEnd = resolve;
    });
    const reportAt = (sentUntilMs: number) =>
      simulatedReport(spec, arrivals, served, sentUntilMs, this.#generator);
    const whole = reportAt(1000 * seconds);
    const elapsedMs = () => Math.min(1000 * seconds, this.#clock.now() - startedAt);
    const end = (afterMs: number): void => {
      if (endedAfter !== undefined) return;
      endedAfter = afterMs;
      this.seconds += afterMs / 1000;
      this.#busy--;
      tellEnd(afterMs === 1000 * seconds ? whole : reportAt(afterMs));
    };
    // Nothing looks at a run that is only waited for: it ends at once.
    if (this.#endsAtOnce) end(1000 * seconds);
    return {
      get state() {
        return endedAfter === undefined ? 'running' : 'ended';
      },
      spec,
      report: () => {
        if (elapsedMs() >= 1000 * seconds) end(1000 * seconds);
        return { ...whole, series: whole.series.slice(0, Math.floor(elapsedMs() / 1000)) };
      },
      arrivals: [],
      setUsers: () => {},
      reset: () => {},
      stop: async () => end(elapsedMs()),
      ended,
    };
  };
}

/** The same unit-rate draws for every rate. */
export function arrivalsOf(
  { traffic, seconds = 0, seed = 1 }: RunSpec,
  most = Number.POSITIVE_INFINITY,
): number[] {
  if (traffic.kind !== 'arrivals' || traffic.schedule.kind !== 'poisson')
    throw new Error('expected Poisson arrivals');
  const perSecond = Math.min(most, traffic.schedule.perSecond);
  const random = randomStream(seed, 'arrivals');
  const times: number[] = [];
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random()) * 1000) / perSecond;
    if (at >= 1000 * seconds) return times;
    times.push(at);
  }
}

interface Second {
  ok: number;
  rejected: number;
  failed: number;
  good: number;
  due: number;
}

function simulatedReport(
  { targetLatencyMs = Number.POSITIVE_INFINITY, traffic, seconds = 0 }: RunSpec,
  arrivals: readonly number[],
  served: readonly Served[],
  sentUntilMs: number,
  { cpuShare = () => 0.1 }: SimulatedGenerator,
): LoadReport {
  const bySecond: Second[] = [];
  const second = (ms: number): Second => {
    const index = Math.floor(ms / 1000);
    while (bySecond.length <= index) bySecond.push({ ok: 0, rejected: 0, failed: 0, good: 0, due: 0 });
    return bySecond[index] as Second;
  };
  if (seconds >= 1) second(1000 * Math.floor(sentUntilMs / 1000) - 1);
  const latencies: number[] = [];
  const counts = { ok: 0, rejected: 0, failed: 0, good: 0 };
  for (const [i, at] of arrivals.entries()) {
    if (at >= sentUntilMs) break;
    second(at).due++;
    const { endedAt, kind = 'ok' } = served[i] as Served;
    const there = second(endedAt);
    there[kind]++;
    counts[kind]++;
    if (kind !== 'ok') continue;
    latencies.push(endedAt - at);
    if (endedAt - at > targetLatencyMs) continue;
    there.good++;
    counts.good++;
  }
  const series = bySecond.map(
    ({ ok, rejected, failed, good, due }, index) =>
      ({
        second: index,
        ok,
        rejected,
        failed,
        good,
        arrivals: { due, sent: due, notSent: 0 },
      }) as SeriesPoint,
  );
  const perSecond =
    traffic.kind === 'arrivals' && 'perSecond' in traffic.schedule ? traffic.schedule.perSecond : 0;
  const sorted = Float64Array.from(latencies).sort();
  const at = (share: number) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
  const figures = {
    count: sorted.length,
    mean: sorted.reduce((sum, ms) => sum + ms, 0) / Math.max(1, sorted.length),
    p50: at(0.5),
    p99: at(0.99),
  };
  const count = counts.ok + counts.rejected + counts.failed;
  return {
    state: 'running',
    seconds,
    ...(Number.isFinite(targetLatencyMs) && { targetLatencyMs }),
    series,
    total: { name: 'Aggregated', count, ...counts, intended: figures, latency: figures },
    arrivals: { due: count, sent: count, notSent: 0 },
    generator: {
      processes: 1,
      meanCpuShare: cpuShare(perSecond),
      maxCpuShare: cpuShare(perSecond),
      maxEventLoopMs: 1,
    },
    failures: [],
    warnings: [],
  } as unknown as LoadReport;
}
