/** The metrics of a proxy, recorded by real batchers on virtual time. */
import { LoopLag, prometheusText } from '@batchwise/metrics';
import { Batcher, greedy, VirtualClock } from 'batchwise';
import { afterEach, expect, test } from 'vitest';
import { parseExposition, sampleValue } from '../../metrics/test/support/exposition.js';
import { StillMonitor } from '../../metrics/test/support/still-monitor.js';
import { PASS_THROUGH, ProxyMetrics, type ProxyMetricsOptions } from '../src/admin/proxy-metrics.js';

const COMPUTE = '/pkg.Service/Compute';
const UNAVAILABLE = 14;
const INTERNAL = 13;

const opened: ProxyMetrics[] = [];

afterEach(() => {
  for (const metrics of opened.splice(0)) metrics.close();
});

function open(options: Partial<ProxyMetricsOptions> = {}) {
  const monitor = new StillMonitor();
  const loopLag = new LoopLag(monitor, new VirtualClock());
  const metrics = new ProxyMetrics({ version: '1.2.3', loopLag, ...options });
  opened.push(metrics);
  const read = () => parseExposition(prometheusText(metrics.snapshot()));
  const value = (name: string, labels: Record<string, string> = {}) => sampleValue(read(), name, labels);
  return { metrics, monitor, read, value };
}

/** A batcher with a service time of 10 ms. */
function batcherOf(name: string) {
  const clock = new VirtualClock();
  const batcher = new Batcher<number, number>(
    (items) => new Promise((resolve) => clock.setTimer(() => resolve(items), 10)),
    { name, clock, policy: greedy(), maxBatchSize: 4 },
  );
  const submit = (items: number) => {
    for (let i = 0; i < items; i++) void batcher.submit(i).catch(() => {});
  };
  return { clock, submit, stats: () => batcher.stats() };
}

const idle = () => ({ isUp: true, batchesInFlight: 0, batchesRetried: 0 });

test('a batched method is exposed as a runner named by its path', async () => {
  const { metrics, value } = open();
  const { clock, submit, stats } = batcherOf(COMPUTE);
  const stop = metrics.watchMethod(COMPUTE, stats, 4);
  submit(5);
  await clock.advance(5);
  const runner = { runner: COMPUTE };
  expect(value('batchwise_queue_depth', runner)).toBe(1);
  await clock.advance(100);
  expect(value('batchwise_batch_size_count', runner)).toBe(2);
  expect(value('batchwise_batch_size_sum', runner)).toBe(5);
  expect(value('batchwise_batch_size_bucket', { ...runner, le: '4' })).toBe(2);
  expect(value('batchwise_compute_seconds_sum', runner)).toBe(0.02);
  expect(value('batchwise_items_total', { ...runner, outcome: 'succeeded' })).toBe(5);
  expect(value('batchwise_service_curve_seconds', { ...runner, size: '4' })).toBe(0.01);
  stop();
  expect(value('batchwise_queue_depth', runner)).toBeUndefined();
  expect(value('batchwise_items_total', { ...runner, outcome: 'succeeded' })).toBeUndefined();
});

test('replacing a batcher does not remove the series of its method', () => {
  const { metrics, value } = open();
  const stop = metrics.watchMethod(COMPUTE, batcherOf(COMPUTE).stats, 4);
  metrics.watchMethod(COMPUTE, batcherOf(COMPUTE).stats, 4);
  metrics.requests.ended(COMPUTE, 0, 1);
  stop();
  expect(value('batchwise_queue_depth', { runner: COMPUTE })).toBe(0);
  const ok = { protocol: 'grpc', route: COMPUTE, outcome: 'ok' };
  expect(value('batchwise_requests_total', ok)).toBe(1);
});

test('series of invented paths are removed', () => {
  const { metrics, read, value } = open();
  for (let i = 0; i < 2000; i++) {
    const path = `/made.up/${i}`;
    const stop = metrics.watchMethod(path, batcherOf(path).stats, 64);
    metrics.requests.started(path);
    metrics.requests.ended(path, 0, 1);
    if (i % 100 === 0) metrics.snapshot();
    stop();
  }
  metrics.watchMethod(COMPUTE, batcherOf(COMPUTE).stats, 4);
  metrics.requests.started(COMPUTE);
  metrics.requests.ended(COMPUTE, 0, 1);
  expect(value('batchwise_queue_depth', { runner: COMPUTE })).toBe(0);
  expect(value('batchwise_requests_total', { protocol: 'grpc', route: COMPUTE, outcome: 'ok' })).toBe(1);
  const text = JSON.stringify([...read().values()].map(({ samples }) => samples.map((s) => [...s.labels])));
  expect(text).not.toContain('made.up');
  expect(text).not.toContain('"other"');
});

test('a new batcher of the same path continues the counters', async () => {
  const { metrics, value } = open();
  for (const items of [2, 3]) {
    const { clock, submit, stats } = batcherOf(COMPUTE);
    metrics.watchMethod(COMPUTE, stats, 4);
    submit(items);
    await clock.advance(100);
  }
  expect(value('batchwise_items_total', { runner: COMPUTE, outcome: 'succeeded' })).toBe(5);
  expect(value('batchwise_batch_size_sum', { runner: COMPUTE })).toBe(5);
});

test('requests are counted by batched method and outcome; pass-through is one route', () => {
  const { metrics, value } = open();
  metrics.requests.started(COMPUTE);
  metrics.requests.started(PASS_THROUGH);
  expect(value('batchwise_requests_in_flight', { protocol: 'grpc' })).toBe(2);
  metrics.requests.ended(COMPUTE, UNAVAILABLE, 20);
  metrics.requests.ended(PASS_THROUGH, 0, 3);
  expect(value('batchwise_requests_in_flight', { protocol: 'grpc' })).toBe(0);
  const requests = (route: string, outcome: string) =>
    value('batchwise_requests_total', { protocol: 'grpc', route, outcome });
  expect(requests(COMPUTE, 'unavailable')).toBe(1);
  expect(requests(COMPUTE, 'ok')).toBe(0);
  expect(requests('pass-through', 'ok')).toBe(1);
  const duration = { protocol: 'grpc', route: COMPUTE, outcome: 'unavailable' };
  expect(value('batchwise_request_duration_seconds_sum', duration)).toBe(0.02);
});

test('the state of a backend is read at collection', () => {
  const { metrics, value } = open();
  const state = { isUp: true, batchesInFlight: 0, batchesRetried: 0 };
  metrics.watchBackend('a:1', () => state);
  const of = (name: string) => value(name, { backend: 'a:1' });
  expect([of('batchwise_backend_up'), of('batchwise_backend_batches_in_flight')]).toEqual([1, 0]);
  Object.assign(state, { isUp: false, batchesInFlight: 3 });
  expect([of('batchwise_backend_up'), of('batchwise_backend_batches_in_flight')]).toEqual([0, 3]);
});

test('events are counted per backend', () => {
  const { metrics, value } = open();
  const state = { ...idle(), batchesRetried: 1 };
  const backend = metrics.watchBackend('a:1', () => state);
  metrics.watchBackend('b:1', idle);
  for (let i = 0; i < 7; i++) backend.batchSent();
  expect(value('batchwise_backend_batch_retries_total', { backend: 'a:1' })).toBe(1);
  state.batchesRetried = 2;
  for (let i = 0; i < 3; i++) backend.ejected();
  backend.surplusAnswers(4);
  backend.surplusAnswers(1);
  const counted = (name: string) => [value(name, { backend: 'a:1' }), value(name, { backend: 'b:1' })];
  expect(counted('batchwise_backend_batches_total')).toEqual([7, 0]);
  expect(counted('batchwise_backend_batch_retries_total')).toEqual([2, 0]);
  expect(counted('batchwise_backend_ejections_total')).toEqual([3, 0]);
  expect(counted('batchwise_backend_surplus_answers_total')).toEqual([5, 0]);
});

test('failures are counted by cause: the usual causes exist from the start, the others when they occur', () => {
  const { metrics, value } = open();
  const backend = metrics.watchBackend('a:1', idle);
  const failures = (...causes: string[]) =>
    causes.map((cause) => value('batchwise_backend_failures_total', { backend: 'a:1', cause }));
  const causes = ['unavailable', 'connection', 'health_check', 'internal', 'unknown'];
  expect(failures(...causes)).toEqual([0, 0, 0, undefined, undefined]);
  backend.callFailed(UNAVAILABLE);
  backend.callFailed(INTERNAL);
  backend.callFailed(INTERNAL);
  for (const status of [99, -1, 1.5, Number.NaN]) backend.callFailed(status);
  backend.connectionFailed();
  backend.healthCheckFailed();
  backend.healthCheckFailed();
  expect(failures(...causes)).toEqual([1, 1, 2, 2, 4]);
});

test('forgetting a backend does not remove the series of its successor', () => {
  const { metrics, value } = open();
  const former = metrics.watchBackend('a:1', () => ({
    isUp: false,
    batchesInFlight: 1,
    batchesRetried: 0,
  }));
  former.batchSent();
  const next = metrics.watchBackend('a:1', idle);
  next.batchSent();
  former.forget();
  expect(value('batchwise_backend_up', { backend: 'a:1' })).toBe(1);
  expect(value('batchwise_backend_batches_total', { backend: 'a:1' })).toBe(2);
});

test('series of removed backends are deleted, and late calls do not create them again', () => {
  const { metrics, read } = open();
  for (let i = 0; i < 2000; i++) {
    const backend = metrics.watchBackend(`10.0.0.${i}:50051`, idle);
    backend.batchSent();
    backend.callFailed(INTERNAL);
    if (i % 100 === 0) metrics.snapshot();
    backend.forget();
    backend.callFailed(4);
    backend.ejected();
  }
  expect([...read().keys()].filter((name) => name.startsWith('batchwise_backend'))).toEqual([]);
  metrics.watchBackend('here:1', idle);
  const { samples = [] } = read().get('batchwise_backend_up') ?? {};
  expect(samples.map(({ labels }) => labels.get('backend'))).toEqual(['here:1']);
});

test('the number of series is bounded for any number of methods and backends', async () => {
  const { metrics, read } = open({ maxLabelSets: 50 });
  for (let i = 0; i < 200; i++) {
    const { stats } = batcherOf(`/made.up/${i}`);
    metrics.watchMethod(`/made.up/${i}`, stats, 64);
    metrics.watchBackend(`backend-${i}:1`, idle).callFailed(INTERNAL);
    metrics.requests.started(`/made.up/${i}`);
    metrics.requests.ended(`/made.up/${i}`, 0, 1);
  }
  for (const { name, type, samples } of read().values()) {
    const series = type === 'histogram' ? samples.filter((sample) => sample.name === `${name}_sum`) : samples;
    expect(series.length, name).toBeLessThanOrEqual(51);
  }
});

test('process metrics are exposed: version, start, CPU, memory, lag', () => {
  const { monitor, value } = open();
  monitor.measured(0.001, 0.25, 0.5);
  expect(value('batchwise_build_info', { version: '1.2.3' })).toBe(1);
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  expect(value('batchwise_event_loop_lag_seconds', { statistic: 'p99' })).toBeCloseTo(0.25);
});

test('measures nothing after close', async () => {
  const { metrics, monitor, value } = open();
  const { clock, submit, stats } = batcherOf(COMPUTE);
  metrics.watchMethod(COMPUTE, stats, 4);
  metrics.close();
  submit(1);
  await clock.advance(100);
  expect(monitor.isDisabled).toBe(true);
  expect(value('batchwise_batch_size_count', { runner: COMPUTE })).toBe(0);
});
