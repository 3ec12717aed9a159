/** All that one process shows, fed by real batchers on virtual time. */
import { createModelRunner, DEFAULT_RUNNER_SETTINGS, type Tensor } from '@batchwise/runners';
import { Batcher, type BatcherOptions, type BatcherStats, greedy, VirtualClock } from 'batchwise';
import { afterEach, expect, test } from 'vitest';
import { LoopLag } from '../../src/metrics/loop-lag.js';
import { mergeSnapshots } from '../../src/metrics/merge-snapshots.js';
import { processRestarts } from '../../src/metrics/process-restarts.js';
import { prometheusText } from '../../src/metrics/prometheus-text.js';
import { ServerMetrics, type ServerMetricsOptions } from '../../src/metrics/server-metrics.js';
import { parseExposition, sampleValue } from './support/exposition.js';
import { StillMonitor } from './support/still-monitor.js';

const opened: ServerMetrics[] = [];

afterEach(() => {
  for (const metrics of opened.splice(0)) metrics.close();
});

function open(options: Partial<ServerMetricsOptions> = {}) {
  const monitor = new StillMonitor();
  const loopLag = new LoopLag(monitor, new VirtualClock());
  const metrics = new ServerMetrics({ version: '1.2.3', kind: 'server', loopLag, ...options });
  opened.push(metrics);
  const read = () => parseExposition(prometheusText(metrics.snapshot()));
  const value = (name: string, labels: Record<string, string> = {}) => sampleValue(read(), name, labels);
  return { metrics, monitor, read, value };
}

/** A batcher as a runner: an item is a number of rows, and a batch takes 10 ms and 1 ms a row. */
function runnerOf(name: string, options: BatcherOptions<number> = {}) {
  const clock = new VirtualClock();
  const batcher = new Batcher<number, number>(
    (items) => {
      const rows = items.reduce((sum, item) => sum + item, 0);
      return new Promise((resolve) => clock.setTimer(() => resolve(items), 10 + rows));
    },
    { name, clock, costOf: (rows) => rows, policy: greedy(), ...options },
  );
  const submit = (rows: number) => void batcher.submit(rows).catch(() => {});
  return { clock, batcher, submit, runner: { name, stats: () => batcher.stats() } };
}

test('batches are counted in rows, with their waits, durations and reasons', async () => {
  const { metrics, read } = open();
  const { clock, submit, runner } = runnerOf('iris', { maxBatchSize: 6 });
  metrics.watchRunner(runner, 6);
  submit(3);
  await clock.advance(5);
  submit(2);
  submit(1);
  submit(5);
  await clock.advance(100);
  const families = read();
  const of = (name: string, labels = {}) => sampleValue(families, name, { runner: 'iris', ...labels });

  const bounds = families.get('batchwise_batch_size')?.samples.map(({ labels }) => labels.get('le'));
  expect(bounds?.slice(0, -2)).toEqual(['1', '2', '4', '6', '+Inf']);
  expect(of('batchwise_batch_size_bucket', { le: '4' })).toBe(2);
  expect(of('batchwise_batch_size_bucket', { le: '6' })).toBe(3);
  expect(of('batchwise_batch_size_sum')).toBe(11);
  expect(of('batchwise_compute_seconds_count')).toBe(3);
  expect(of('batchwise_compute_seconds_sum')).toBe(0.041);
  expect(of('batchwise_queue_wait_seconds_count')).toBe(4);
  expect(of('batchwise_queue_wait_seconds_sum')).toBe(0.037);
  expect(of('batchwise_queue_wait_seconds_bucket', { le: '0.0001' })).toBe(1);
  const reasons = families.get('batchwise_batches_total')?.samples ?? [];
  expect(reasons).toHaveLength(7);
  expect(reasons.reduce((sum, { value }) => sum + value, 0)).toBe(3);
  expect(of('batchwise_items_total', { outcome: 'succeeded' })).toBe(4);
});

test('how things stand is read when it is asked for', async () => {
  const { metrics, read } = open();
  const { clock, submit, runner } = runnerOf('iris', { maxBatchSize: 4 });
  metrics.watchRunner(runner, 4);
  submit(4);
  await clock.advance(1);
  submit(4);
  submit(4);
  await clock.advance(2);
  const families = read();
  const of = (name: string) => sampleValue(families, name, { runner: 'iris' });
  expect(of('batchwise_queue_depth')).toBe(2);
  expect(of('batchwise_queue_oldest_seconds')).toBe(0.002);
  expect(of('batchwise_in_flight')).toBe(1);
  expect(of('batchwise_batches_running')).toBe(1);
  expect(of('batchwise_arrivals_per_second')).toBe(runner.stats().arrivalsPerSecond);
  await clock.advance(100);
});

test('the learned curve is shown at the sizes of which something is known', async () => {
  const { metrics, read } = open();
  const { clock, submit, runner } = runnerOf('iris', { maxBatchSize: 20 });
  metrics.watchRunner(runner, 20);
  const sizes = () =>
    read()
      .get('batchwise_service_curve_seconds')
      ?.samples.map(({ labels, value }) => [labels.get('size'), value]);
  expect(sizes()).toBeUndefined();
  for (const rows of [1, 3, 20]) {
    submit(rows);
    await clock.advance(100);
  }
  expect(sizes()).toEqual([
    ['1', 0.011],
    ['4', 0.013],
    ['20', 0.03],
  ]);
  metrics.watchRunner(runner, 4);
  expect(sizes()).toEqual([
    ['1', 0.011],
    ['4', 0.013],
  ]);
});

test('refusals are shown by cause, the usual ones from the start', async () => {
  const { metrics, value } = open();
  const { clock, submit, runner, batcher } = runnerOf('iris', { maxBatchSize: 1, maxQueueSize: 1 });
  metrics.watchRunner(runner, 1);
  const refusals = (cause: string) => value('batchwise_refusals_total', { runner: 'iris', cause });
  expect([refusals('queue_full'), refusals('overloaded'), refusals('closed')]).toEqual([0, 0, undefined]);
  for (let i = 0; i < 3; i++) submit(1);
  await clock.advance(100);
  await batcher.close();
  submit(1);
  await clock.settle();
  const { refused } = runner.stats();
  expect(refused).toBeGreaterThan(1);
  expect(refusals('closed')).toBe(1);
  expect(refusals('queue_full')).toBe(refused - 1);
  expect(value('batchwise_items_total', { runner: 'iris', outcome: 'refused' })).toBe(refused);
});

test('batches of others, and of runners no longer watched, are not counted', async () => {
  const { metrics, value } = open();
  const { clock, submit, runner } = runnerOf('iris');
  const stop = metrics.watchRunner(runner, 8);
  const stranger = runnerOf('stranger');
  stranger.submit(1);
  await stranger.clock.advance(100);
  submit(1);
  await clock.advance(100);
  expect(value('batchwise_queue_depth', { runner: 'iris' })).toBe(0);
  stop();
  stop();
  submit(1);
  await clock.advance(100);
  expect(value('batchwise_batch_size_count', { runner: 'iris' })).toBe(1);
  expect(value('batchwise_batch_size_count', { runner: 'stranger' })).toBeUndefined();
  expect(value('batchwise_items_total', { runner: 'iris', outcome: 'succeeded' })).toBe(1);
  expect(value('batchwise_queue_depth', { runner: 'iris' })).toBeUndefined();
});

test('a runner in the place of another goes on counting; one that is watched again is not counted twice', async () => {
  const { metrics, value } = open();
  const succeeded = () => value('batchwise_items_total', { runner: 'iris', outcome: 'succeeded' });
  const [first, second] = [runnerOf('iris'), runnerOf('iris')];
  const stopFirst = metrics.watchRunner(first.runner, 8);
  for (const { submit, clock, runner } of [first, second]) {
    metrics.watchRunner(runner, 8);
    for (let i = 0; i < 3; i++) submit(1);
    await clock.advance(100);
  }
  expect(succeeded()).toBe(6);
  stopFirst();
  second.submit(1);
  await second.clock.advance(100);
  expect(succeeded()).toBe(7);
  metrics.watchRunner(first.runner, 8);
  expect(succeeded()).toBe(7);
  expect(value('batchwise_batch_size_count', { runner: 'iris' })).toBe(
    first.runner.stats().batches + second.runner.stats().batches,
  );
});

test('books that begin anew do not set a counter back', async () => {
  const { metrics, value } = open();
  let { clock, submit, batcher } = runnerOf('iris');
  metrics.watchRunner({ name: 'iris', stats: () => batcher.stats() }, 8);
  const run = async () => {
    submit(1);
    submit(1);
    await clock.advance(100);
    return value('batchwise_items_total', { runner: 'iris', outcome: 'succeeded' });
  };
  expect(await run()).toBe(2);
  expect(await run()).toBe(4);
  ({ clock, submit, batcher } = runnerOf('iris'));
  expect(await run()).toBe(6);
});

test('a larger limit adds buckets and keeps what was counted', async () => {
  const { metrics, value } = open();
  const { clock, submit, runner, batcher } = runnerOf('iris', { maxBatchSize: 2 });
  metrics.watchRunner(runner, 2);
  submit(2);
  await clock.advance(100);
  batcher.configure({ maxBatchSize: 6 });
  metrics.watchRunner(runner, 6);
  submit(6);
  await clock.advance(100);
  const atMost = (le: string) => value('batchwise_batch_size_bucket', { runner: 'iris', le });
  expect(['1', '2', '4', '6', '+Inf'].map(atMost)).toEqual([0, 1, 1, 2, 2]);
});

test('a runner in another process is shown by that process only', () => {
  const { metrics, read } = open();
  metrics.watchRunner({ name: 'iris', stats: () => undefined }, 8);
  const families = read();
  expect(families.has('batchwise_queue_depth')).toBe(false);
  expect(families.has('batchwise_items_total')).toBe(false);
  expect(sampleValue(families, 'batchwise_batch_size_count', { runner: 'iris' })).toBe(0);
});

test('replicas of a runner add up; of their curves the slower counts', async () => {
  const snapshots = [];
  for (const rows of [2, 1]) {
    const { metrics } = open();
    const { clock, submit, runner } = runnerOf('iris');
    const stop = metrics.watchRunner(runner, 8);
    submit(rows);
    await clock.advance(100);
    const stats = { ...runner.stats(), curve: [{ cost: 1, durationMs: 10 * rows }] } as BatcherStats;
    metrics.watchRunner({ name: 'iris', stats: () => stats }, 8);
    stop();
    snapshots.push(metrics.snapshot());
    metrics.close();
  }
  const families = parseExposition(prometheusText(mergeSnapshots(snapshots)));
  expect(sampleValue(families, 'batchwise_batch_size_sum', { runner: 'iris' })).toBe(3);
  expect(sampleValue(families, 'batchwise_service_curve_seconds', { runner: 'iris', size: '1' })).toBe(0.02);
});

test('a request that makes a batch of its own is counted with its rows', async () => {
  const { metrics, read } = open();
  const clock = new VirtualClock();
  const input = { name: 'x', datatype: 'FP32', shape: [-1, 1] } as const;
  const runner = createModelRunner({
    name: 'iris',
    model: {
      platform: 'fake',
      load: async () => ({ inputs: [input], outputs: [input] }),
      infer: async (inputs) => {
        if ((inputs.get('x') as Tensor).shape[0] === 4) throw new Error('it does not like four');
        return inputs;
      },
      close: async () => {},
    },
    settings: {
      ...DEFAULT_RUNNER_SETTINGS,
      batchable: true,
      warmup: 0,
      concurrency: 2,
      batching: { ...DEFAULT_RUNNER_SETTINGS.batching, enabled: false },
    },
    clock,
    onWhole: metrics.wholesOf('iris'),
  });
  await runner.ready;
  metrics.watchRunner(runner, 8);
  for (const rows of [3, 1, 4, 5]) {
    const x: Tensor = { datatype: 'FP32', shape: [rows, 1], data: new Float32Array(rows) };
    runner.enqueue({ inputs: new Map([['x', x]]) }, { resolve() {}, reject() {} });
  }
  await clock.advance(100);
  const of = (name: string, labels = {}) => sampleValue(read(), name, { runner: 'iris', ...labels });
  expect(of('batchwise_batch_size_sum')).toBe(13);
  expect(['1', '2', '4', '8'].map((le) => of('batchwise_batch_size_bucket', { le }))).toEqual([1, 1, 3, 4]);
});

test('who puts batches together can tell how long it took', () => {
  const { metrics, value } = open();
  const assembled = metrics.assemblyOf('iris');
  assembled(2);
  assembled(3);
  expect(value('batchwise_assembly_seconds_sum', { runner: 'iris' })).toBe(0.005);
});

test('restarts of processes are told by kind and runner', () => {
  const restarts = processRestarts([
    { kind: 'web', runner: undefined, restarts: 0 },
    { kind: 'runner', runner: 'iris', restarts: 2 },
  ]);
  const families = parseExposition(prometheusText([restarts]));
  const value = (labels: Record<string, string>) =>
    sampleValue(families, 'batchwise_process_restarts_total', labels);
  expect(value({ kind: 'web', runner: '' })).toBe(0);
  expect(value({ kind: 'runner', runner: 'iris' })).toBe(2);
});

test('processes count themselves', () => {
  const snapshots = (['runner', 'web', 'web'] as const).map((kind) => open({ kind }).metrics.snapshot());
  const families = parseExposition(prometheusText(mergeSnapshots(snapshots)));
  const processes = (kind: string) => sampleValue(families, 'batchwise_processes', { kind });
  expect([processes('runner'), processes('web')]).toEqual([1, 2]);
});

test('the process itself is shown: version, start, CPU, memory, lag', () => {
  const { monitor, read } = open();
  monitor.measured(0.001, 0.25, 0.5);
  const families = read();
  expect(sampleValue(families, 'batchwise_build_info', { version: '1.2.3' })).toBe(1);
  expect(sampleValue(families, 'process_start_time_seconds')).toBeGreaterThan(1.7e9);
  expect(sampleValue(families, 'process_cpu_seconds_total')).toBeGreaterThan(0);
  expect(sampleValue(families, 'process_resident_memory_bytes')).toBeGreaterThan(1e6);
  expect(sampleValue(families, 'nodejs_heap_size_used_bytes')).toBeGreaterThan(1e5);
  expect(sampleValue(families, 'batchwise_event_loop_lag_seconds', { statistic: 'p99' })).toBeCloseTo(0.25);
  expect(sampleValue(families, 'batchwise_event_loop_lag_seconds', { statistic: 'max' })).toBeCloseTo(0.5);
});

test('CPU time grows from one look to the next', () => {
  const { value } = open();
  const before = value('process_cpu_seconds_total') ?? Number.NaN;
  expect(value('process_cpu_seconds_total')).toBeGreaterThanOrEqual(before);
});

test('with bentomlNames the batch sizes are there under that name too, whatever the runner is called', async () => {
  const { metrics, read } = open({ bentomlNames: true });
  const { clock, submit, runner } = runnerOf('my model');
  metrics.watchRunner(runner, 8);
  metrics.watchRunner({ name: 'my.model', stats: () => undefined }, 8);
  metrics.watchRunner({ name: 'ünï', stats: () => undefined }, 8);
  submit(3);
  await clock.advance(100);
  const families = read();
  const alias = 'BENTOML_my_model_predict_adaptive_batch_size';
  expect(sampleValue(families, `${alias}_sum`, { runner: 'my model' })).toBe(3);
  expect(sampleValue(families, `${alias}_bucket`, { runner: 'my model', le: '4' })).toBe(1);
  expect(sampleValue(families, `${alias}_sum`, { runner: 'my.model' })).toBe(0);
  expect(families.has('BENTOML__n__predict_adaptive_batch_size')).toBe(true);
  expect(families.has('batchwise_batch_size')).toBe(true);
});

test('without it they are not', () => {
  const { metrics, read } = open();
  metrics.watchRunner({ name: 'iris', stats: () => undefined }, 8);
  expect([...read().keys()].filter((name) => name.startsWith('BENTOML'))).toEqual([]);
});

test('closed, it listens and measures no longer', async () => {
  const { metrics, monitor, value } = open();
  const { clock, submit, runner } = runnerOf('iris');
  metrics.watchRunner(runner, 8);
  metrics.close();
  submit(1);
  await clock.advance(100);
  expect(monitor.isDisabled).toBe(true);
  expect(value('batchwise_batch_size_count', { runner: 'iris' })).toBe(0);
});
