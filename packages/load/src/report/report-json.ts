/** The report for programs. Keys are in snake_case, as in all JSON of the project, and always in the same order. */
import type { Percentiles } from '../statistics/histogram.js';
import type { SeriesPoint } from '../statistics/statistics.js';
import type { ArrivalFigures, LoadReport, RequestFigures, TrafficFacts } from './load-report.js';

/** Ends with a line break. What a run has no value for is null. */
export function reportJson(report: LoadReport): string {
  const { generator, arrivals, total } = report;
  const json = {
    version: report.version,
    state: report.state,
    started_at: report.startedAt,
    seconds: exact(report.seconds),
    target: report.target,
    traffic: trafficJson(report.traffic),
    target_latency_ms: report.targetLatencyMs ?? null,
    passes: report.verdicts.every(({ isBroken }) => !isBroken),
    verdicts: report.verdicts.map(({ rule, value, isBroken }) => ({
      rule,
      value: exact(value),
      is_broken: isBroken,
    })),
    warnings: report.warnings,
    total: requestJson(total),
    requests: report.requests.map(requestJson),
    failures: report.failures.map(({ name, kind, reason, count }) => ({ name, kind, reason, count })),
    batch_sizes: report.batchSizes.map(({ size, requests, latencyMs, queueMs, computeMs }) => ({
      size,
      requests,
      mean_latency_ms: exact(latencyMs),
      mean_queue_ms: total.split === undefined ? null : exact(queueMs),
      mean_compute_ms: total.split === undefined ? null : exact(computeMs),
    })),
    arrivals: arrivals === undefined ? null : arrivalsJson(arrivals),
    generator: {
      processes: generator.processes,
      mean_cpu_share: exact(generator.meanCpuShare),
      max_cpu_share: exact(generator.maxCpuShare),
      max_event_loop_ms: exact(generator.maxEventLoopMs),
    },
    series: report.series.map(secondJson),
  };
  return `${JSON.stringify(json, null, 2)}\n`;
}

function trafficJson(traffic: TrafficFacts): Record<string, unknown> {
  if (traffic.kind === 'arrivals') {
    return { kind: traffic.kind, arrivals: traffic.text, rate_per_second: traffic.perSecond ?? null };
  }
  return {
    kind: traffic.kind,
    users: traffic.users,
    spawn_rate_per_second: traffic.spawnRate,
    wait_time: traffic.waitTime,
  };
}

function requestJson(figures: RequestFigures): Record<string, unknown> {
  const { count, split } = figures;
  const share = (part: number) => (count === 0 ? null : exact(part / count));
  return {
    name: figures.name,
    count,
    ok: figures.ok,
    rejected: figures.rejected,
    failed: figures.failed,
    good: figures.good,
    good_share: share(figures.good),
    rejected_share: share(figures.rejected),
    failed_share: share(figures.failed),
    rate_per_second: exact(figures.perSecond),
    goodput_per_second: exact(figures.goodPerSecond),
    failed_per_second: exact(figures.failedPerSecond),
    mean_response_bytes: exact(figures.meanResponseBytes),
    mean_batch_size: exact(figures.meanBatchSize ?? Number.NaN),
    latency: percentilesJson(figures.latency),
    intended_latency: percentilesJson(figures.intended),
    rejected_and_failed_latency: percentilesJson(figures.others),
    network: split === undefined ? null : percentilesJson(split.network),
    queue: split === undefined ? null : percentilesJson(split.queue),
    compute: split === undefined ? null : percentilesJson(split.compute),
  };
}

function percentilesJson(figures: Percentiles): Record<string, number | null> {
  const ms = (value: number) => (figures.count === 0 ? null : exact(value));
  return {
    count: figures.count,
    mean_ms: ms(figures.mean),
    min_ms: ms(figures.min),
    p50_ms: ms(figures.p50),
    p66_ms: ms(figures.p66),
    p75_ms: ms(figures.p75),
    p80_ms: ms(figures.p80),
    p90_ms: ms(figures.p90),
    p95_ms: ms(figures.p95),
    p98_ms: ms(figures.p98),
    p99_ms: ms(figures.p99),
    p999_ms: ms(figures.p999),
    p9999_ms: ms(figures.p9999),
    max_ms: ms(figures.max),
  };
}

function arrivalsJson(arrivals: ArrivalFigures): Record<string, unknown> {
  return {
    due: arrivals.due,
    sent: arrivals.sent,
    not_sent: arrivals.notSent,
    requested_per_second: exact(arrivals.requestedPerSecond),
    achieved_per_second: exact(arrivals.achievedPerSecond),
    is_kept: arrivals.isKept,
  };
}

function secondJson(point: SeriesPoint): Record<string, unknown> {
  const ms = (value: number | undefined) => (point.ok === 0 ? null : exact(value ?? Number.NaN));
  return {
    second: point.second,
    users: point.users,
    in_flight: point.inFlight,
    connections: point.connections,
    ok: point.ok,
    rejected: point.rejected,
    failed: point.failed,
    good: point.good,
    mean_ms: ms(point.meanMs),
    p50_ms: ms(point.p50Ms),
    p95_ms: ms(point.p95Ms),
    p99_ms: ms(point.p99Ms),
    max_ms: ms(point.maxMs),
    intended_p99_ms: ms(point.intendedP99Ms),
    intended_max_ms: ms(point.intendedMaxMs),
    mean_batch_size: ms(point.meanBatchSize),
    mean_network_ms: ms(point.networkMs),
    mean_queue_ms: ms(point.queueMs),
    mean_compute_ms: ms(point.computeMs),
    arrivals_due: point.arrivals.due,
    arrivals_sent: point.arrivals.sent,
    arrivals_not_sent: point.arrivals.notSent,
    cpu_share: exact(point.cpuShare),
    event_loop_ms: exact(point.eventLoopMs),
  };
}

/** To six decimals, without the noise of binary fractions; null for what is not finite. */
function exact(value: number): number | null {
  return Number.isFinite(value) ? Number(value.toFixed(6)) : null;
}
