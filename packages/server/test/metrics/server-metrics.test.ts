/** All that one process shows, fed by real batchers on virtual time. */
import { LoopLag, mergeSnapshots, prometheusText } from '@batchwise/metrics';
import { createModelRunner, DEFAULT_RUNNER_SETTINGS, type Tensor } from '@batchwise/runners';
import { VirtualClock } from 'batchwise';
import { afterEach, expect, test } from 'vitest';
import { parseExposition, sampleValue } from '../../../metrics/test/support/exposition.js';
import { StillMonitor } from '../../../metrics/test/support/still-monitor.js';
import { runnerOf } from '../../../metrics/test/support/working-runner.js';
import { processRestarts } from '../../src/metrics/process-restarts.js';
import { ServerMetrics, type ServerMetricsOptions } from '../../src/metrics/server-metrics.js';

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
