/** What happened between two looks at the metrics of a server, and how it stands at the second. */
import { type Histogram, quantile, since } from './histogram.js';
import type { Labels, RouteFilter, Scrape } from './scrape.js';

/** How a request may end, as the server counts it. */
export const OUTCOMES = ['ok', 'refused', 'invalid', 'late', 'cancelled', 'unavailable', 'failed'] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Undefined where nothing has happened that it could be told of. */
export interface Times {
  readonly p50Ms: number | undefined;
  readonly p90Ms: number | undefined;
  readonly p99Ms: number | undefined;
}

export interface RequestsReading {
  readonly perSecond: number;
  readonly byOutcome: Readonly<Record<Outcome, number>>;
  readonly times: Times;
  readonly inFlight: number;
}

export interface RunnerReading {
  readonly rowsPerSecond: number;
  readonly refusedPerSecond: number;
  readonly batchesPerSecond: number;
  /** Of the batches that ended meanwhile. */
  readonly meanBatch: number | undefined;
  readonly sizes: Histogram;
  /** Batches that started meanwhile. */
  readonly reasons: ReadonlyMap<string, number>;
  readonly waits: Times;
  readonly runs: Times;
  readonly queued: number;
  readonly oldestMs: number;
  readonly running: number;
  /** Milliseconds by size. */
  readonly curve: ReadonlyMap<number, number>;
}

export interface ServerReading {
  readonly version: string;
  /** Seconds since 1970. */
  readonly startedAt: number;
  readonly processes: ReadonlyMap<string, number>;
  readonly restarts: number;
  readonly memoryBytes: number;
  /** Of one core. */
  readonly cpuShare: number;
  readonly lagP99Ms: number;
}

export interface Reading {
  /** Milliseconds on the clock of the page. */
  readonly at: number;
  readonly requests: RequestsReading;
  readonly runners: ReadonlyMap<string, RunnerReading>;
  readonly server: ServerReading;
}

/** Those who watch, this page among them, are not what is watched. */
const OF_WATCHERS = /^\/(?:metrics|livez|readyz|healthz|v2\/health|docs|docs\.json|dashboard)(?:\/|$)/;
const OF_GRPC_WATCHERS = /^grpc\.health\.|^inference\.GRPCInferenceService\/Server(?:Live|Ready)$/;
const isAsked: RouteFilter = (route) => !OF_WATCHERS.test(route) && !OF_GRPC_WATCHERS.test(route);

export function readingOf(before: Scrape, after: Scrape): Reading {
  const seconds = Math.max(0.001, (after.at - before.at) / 1000);
  const span = { before, after, seconds };
  const runners = new Map<string, RunnerReading>();
  for (const name of after.valuesOf('batchwise_queue_depth', 'runner'))
    runners.set(name, runnerOf(span, name));
  return { at: after.at, requests: requestsOf(span), runners, server: serverOf(span) };
}

interface Span {
  readonly before: Scrape;
  readonly after: Scrape;
  readonly seconds: number;
}

function requestsOf(span: Span): RequestsReading {
  const { after } = span;
  const rate = (outcome: Outcome) =>
    more(span, 'batchwise_requests_total', { outcome }, isAsked) / span.seconds;
  const byOutcome = Object.fromEntries(OUTCOMES.map((outcome) => [outcome, rate(outcome)]));
  return {
    perSecond: Object.values(byOutcome).reduce((sum, perSecond) => sum + perSecond, 0),
    byOutcome: byOutcome as Record<Outcome, number>,
    times: timesOf(histogramOf(span, 'batchwise_request_duration_seconds', { outcome: 'ok' }, isAsked)),
    // One of them asks for this.
    inFlight: Math.max(0, after.sum('batchwise_requests_in_flight') - 1),
  };
}

function runnerOf(span: Span, runner: string): RunnerReading {
  const { before, after, seconds } = span;
  const labels = { runner };
  const sizes = histogramOf(span, 'batchwise_batch_size', labels);
  const reasonsBefore = before.byLabel('batchwise_batches_total', 'reason', labels);
  const reasons = new Map<string, number>();
  for (const [reason, count] of after.byLabel('batchwise_batches_total', 'reason', labels)) {
    reasons.set(reason, grown(reasonsBefore.get(reason) ?? 0, count));
  }
  const curve = new Map<number, number>();
  for (const [size, duration] of after.byLabel('batchwise_service_curve_seconds', 'size', labels)) {
    curve.set(Number(size), duration * 1000);
  }
  return {
    rowsPerSecond: sizes.sum / seconds,
    refusedPerSecond: more(span, 'batchwise_refusals_total', labels) / seconds,
    batchesPerSecond: sizes.count / seconds,
    meanBatch: sizes.count === 0 ? undefined : sizes.sum / sizes.count,
    sizes,
    reasons,
    waits: timesOf(histogramOf(span, 'batchwise_queue_wait_seconds', labels)),
    runs: timesOf(histogramOf(span, 'batchwise_compute_seconds', labels)),
    queued: after.sum('batchwise_queue_depth', labels),
    oldestMs: after.sum('batchwise_queue_oldest_seconds', labels) * 1000,
    running: after.sum('batchwise_batches_running', labels),
    curve,
  };
}

function serverOf(span: Span): ServerReading {
  const { after, seconds } = span;
  return {
    version: after.valuesOf('batchwise_build_info', 'version').join(', '),
    startedAt: after.sum('process_start_time_seconds'),
    processes: after.byLabel('batchwise_processes', 'kind', {}),
    restarts: after.sum('batchwise_process_restarts_total'),
    memoryBytes: after.sum('process_resident_memory_bytes'),
    cpuShare: more(span, 'process_cpu_seconds_total', {}) / seconds,
    lagP99Ms: after.sum('batchwise_event_loop_lag_seconds', { statistic: 'p99' }) * 1000,
  };
}

function more({ before, after }: Span, name: string, labels: Labels, isCounted?: RouteFilter): number {
  return grown(before.sum(name, labels, isCounted), after.sum(name, labels, isCounted));
}

/** A counter that has become smaller began anew. */
function grown(before: number, after: number): number {
  return after < before ? after : after - before;
}

function histogramOf(
  { before, after }: Span,
  name: string,
  labels: Labels,
  isCounted?: RouteFilter,
): Histogram {
  return since(before.histogram(name, labels, isCounted), after.histogram(name, labels, isCounted));
}

function timesOf(seconds: Histogram): Times {
  return {
    p50Ms: ms(quantile(seconds, 0.5)),
    p90Ms: ms(quantile(seconds, 0.9)),
    p99Ms: ms(quantile(seconds, 0.99)),
  };
}

function ms(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}
