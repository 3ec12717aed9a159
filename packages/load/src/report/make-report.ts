/** Makes the report of a run from its statistics. */
import type { SeriesPoint, Statistics } from '../statistics/statistics.js';
import type { Tally } from '../statistics/tally.js';
import type {
  ArrivalFigures,
  BatchSizeFigures,
  FailureFigures,
  GeneratorFigures,
  LoadReport,
  RequestFigures,
  RunState,
  TrafficFacts,
} from './load-report.js';

export interface RunFacts {
  readonly state: RunState;
  readonly startedAt: Date;
  readonly seconds: number;
  readonly target: string;
  readonly traffic: TrafficFacts;
  readonly targetLatencyMs?: number | undefined;
  readonly processes: number;
}

const TOTAL = 'Aggregated';
/** The issue of a rate that is not kept, and of a busy generator, begins here. */
const MOST_RATE_ERROR = 0.01;
const MOST_CPU_SHARE = 0.8;
const MOST_EVENT_LOOP_MS = 50;
/** Timers of Node are late by a millisecond or two. */
const MOST_LATENESS_MS = 10;
/** Of the ok responses of an open model, after its end. A queue that does not grow is a small share of a run. */
const MOST_DRAIN_SHARE = 0.1;

export function makeReport(statistics: Statistics, facts: RunFacts): LoadReport {
  const { state, startedAt, seconds, target, traffic, targetLatencyMs } = facts;
  const series = statistics.series;
  const measured = measuredSeconds(series, facts);
  const arrivals = traffic.kind === 'arrivals' ? arrivalFigures(series, measured) : undefined;
  const generator = generatorFigures(statistics, facts.processes);
  return {
    version: 1,
    state,
    startedAt: startedAt.toISOString(),
    seconds,
    target,
    traffic,
    ...(targetLatencyMs !== undefined && { targetLatencyMs }),
    total: requestFigures(TOTAL, statistics.total, measured),
    requests: [...statistics.byName].map(([name, tally]) => requestFigures(name, tally, measured)),
    series,
    failures: failureFigures(statistics),
    batchSizes: batchSizeFigures(statistics.total),
    ...(arrivals !== undefined && { arrivals }),
    generator,
    warnings: [
      ...warningsOf(generator, arrivals, latenessMs(statistics.total)),
      ...(arrivals === undefined ? [] : drainWarnings(series, facts)),
    ],
    verdicts: [],
  };
}

/** What rates are over: of a run that goes on, the seconds whose figures are here, not the one that is under way. */
function measuredSeconds(series: readonly SeriesPoint[], { state, seconds }: RunFacts): number {
  const last = series.at(-1);
  return state === 'running' && last !== undefined ? Math.min(seconds, last.second + 1) : seconds;
}

function requestFigures(name: string, tally: Tally, seconds: number): RequestFigures {
  const perSecond = (count: number) => (seconds > 0 ? count / seconds : 0);
  let batched = 0;
  let sizes = 0;
  for (const [size, { requests }] of tally.sizes) {
    batched += requests;
    sizes += size * requests;
  }
  return {
    name,
    count: tally.count,
    ok: tally.ok,
    rejected: tally.rejected,
    failed: tally.failed,
    good: tally.good,
    perSecond: perSecond(tally.count),
    goodPerSecond: perSecond(tally.good),
    failedPerSecond: perSecond(tally.failed),
    meanResponseBytes: tally.count === 0 ? 0 : tally.responseBytes / tally.count,
    latency: tally.latency.percentiles(),
    intended: tally.intended.percentiles(),
    others: tally.others.percentiles(),
    ...(tally.queue.count > 0 && {
      split: {
        network: tally.network.percentiles(),
        queue: tally.queue.percentiles(),
        compute: tally.compute.percentiles(),
      },
    }),
    ...(batched > 0 && { meanBatchSize: sizes / batched }),
  };
}

function failureFigures(statistics: Statistics): FailureFigures[] {
  const figures: FailureFigures[] = [];
  for (const [name, { failedFor, rejectedFor }] of statistics.byName) {
    for (const [reason, count] of failedFor) figures.push({ name, kind: 'failed', reason, count });
    for (const [reason, count] of rejectedFor) figures.push({ name, kind: 'rejected', reason, count });
  }
  return figures.sort((a, b) => b.count - a.count);
}

function batchSizeFigures({ sizes }: Tally): BatchSizeFigures[] {
  return [...sizes]
    .sort(([a], [b]) => a - b)
    .map(([size, { requests, latencyMs, queueMs, computeMs }]) => ({
      size,
      requests,
      latencyMs: latencyMs / requests,
      queueMs: queueMs / requests,
      computeMs: computeMs / requests,
    }));
}

function arrivalFigures(series: readonly SeriesPoint[], seconds: number): ArrivalFigures {
  const sum = { due: 0, sent: 0, notSent: 0 };
  for (const { arrivals } of series) {
    sum.due += arrivals.due;
    sum.sent += arrivals.sent;
    sum.notSent += arrivals.notSent;
  }
  const requestedPerSecond = seconds > 0 ? sum.due / seconds : 0;
  const achievedPerSecond = seconds > 0 ? sum.sent / seconds : 0;
  return {
    ...sum,
    requestedPerSecond,
    achievedPerSecond,
    isKept: Math.abs(achievedPerSecond - requestedPerSecond) <= MOST_RATE_ERROR * requestedPerSecond,
  };
}

function generatorFigures(statistics: Statistics, processes: number): GeneratorFigures {
  const shares = statistics.cpuShares;
  return {
    processes,
    meanCpuShare: shares.length === 0 ? 0 : shares.reduce((sum, share) => sum + share, 0) / shares.length,
    maxCpuShare: shares.reduce((most, share) => Math.max(most, share), 0),
    maxEventLoopMs: statistics.eventLoopMaxMs,
  };
}

/** How long requests waited in the generator between their intended and their actual start, on average. */
function latenessMs({ intended, latency }: Tally): number {
  return intended.mean - latency.mean;
}

function warningsOf(
  generator: GeneratorFigures,
  arrivals: ArrivalFigures | undefined,
  latenessMs: number,
): string[] {
  const warnings: string[] = [];
  if (generator.meanCpuShare > MOST_CPU_SHARE) {
    warnings.push(
      `The generator used ${percent(generator.meanCpuShare)} of a core: latencies include its own delays. Use --processes, or a separate machine.`,
    );
  }
  if (generator.maxEventLoopMs > MOST_EVENT_LOOP_MS) {
    warnings.push(
      `The generator's event loop was blocked for up to ${Math.round(generator.maxEventLoopMs)} ms: latencies include its own delays.`,
    );
  }
  if (arrivals !== undefined && !arrivals.isKept) {
    const { achievedPerSecond, requestedPerSecond, notSent } = arrivals;
    warnings.push(
      `The rate was not achieved: ${achievedPerSecond.toFixed(1)}/s of ${requestedPerSecond.toFixed(1)}/s, ${notSent} arrivals could not be sent.`,
    );
  }
  if (arrivals !== undefined && latenessMs > MOST_LATENESS_MS) {
    warnings.push(
      `The generator sent requests ${latenessMs.toFixed(0)} ms late on average: it has too little CPU time for this rate.`,
    );
  }
  return warnings;
}

/** Requests belong to the time in which they were sent: what an overloaded target does later adds to its goodput. */
function drainWarnings(series: readonly SeriesPoint[], { state, seconds }: RunFacts): string[] {
  if (state !== 'ended') return [];
  // The first second that is after the end as a whole; a run ends a few milliseconds late.
  const end = Math.max(1, Math.ceil(seconds - 0.1));
  let [all, after] = [0, 0];
  for (const { second, ok } of series) {
    all += ok;
    if (second >= end) after += ok;
  }
  if (after <= MOST_DRAIN_SHARE * all) return [];
  return [
    `${percent(after / all)} of the responses came after the end of the run: the goodput may be above what the target sustains. Use --target-latency-ms, or a longer --time.`,
  ];
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
