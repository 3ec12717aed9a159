/** The metrics of runners with real batchers on virtual time. */
import type { BatcherStats } from 'batchwise';
import { afterEach, expect, test } from 'vitest';
import { mergeSnapshots } from '../src/merge-snapshots.js';
import { prometheusText } from '../src/prometheus-text.js';
import { Registry } from '../src/registry.js';
import { runnerInstruments } from '../src/runner-instruments.js';
import { WatchedRunners } from '../src/watched-runners.js';
import { parseExposition, sampleValue } from './support/exposition.js';
import { runnerOf } from './support/working-runner.js';

const opened: WatchedRunners[] = [];

afterEach(() => {
  for (const runners of opened.splice(0)) runners.close();
});

function open() {
  const registry = new Registry();
  const runners = new WatchedRunners(registry, runnerInstruments(registry));
  opened.push(runners);
  const read = () => parseExposition(prometheusText(registry.snapshot()));
  const value = (name: string, labels: Record<string, string> = {}) => sampleValue(read(), name, labels);
  return { runners, registry, read, value };
}

test('batches are counted in rows, with their waits, durations and reasons', async () => {
  const { runners, read } = open();
  const { clock, submit, runner } = runnerOf('iris', { maxBatchSize: 6 });
  runners.watch(runner, 6);
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

test('gauges are read at each snapshot', async () => {
  const { runners, read } = open();
  const { clock, submit, runner } = runnerOf('iris', { maxBatchSize: 4 });
  runners.watch(runner, 4);
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

test('the service curve is exported for sizes with data', async () => {
  const { runners, read } = open();
  const { clock, submit, runner } = runnerOf('iris', { maxBatchSize: 20 });
  runners.watch(runner, 20);
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
  runners.watch(runner, 4);
  expect(sizes()).toEqual([
    ['1', 0.011],
    ['4', 0.013],
  ]);
});

test('refusals are exported by cause, the common ones from the start', async () => {
  const { runners, value } = open();
  const { clock, submit, runner, batcher } = runnerOf('iris', { maxBatchSize: 1, maxQueueSize: 1 });
  runners.watch(runner, 1);
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

test('batches of other runners, and of runners no longer watched, are not counted', async () => {
  const { runners, value } = open();
  const { clock, submit, runner } = runnerOf('iris');
  const stop = runners.watch(runner, 8);
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

test('a replacement continues the counters; a runner watched again is not counted twice', async () => {
  const { runners, value } = open();
  const succeeded = () => value('batchwise_items_total', { runner: 'iris', outcome: 'succeeded' });
  const [first, second] = [runnerOf('iris'), runnerOf('iris')];
  const stopFirst = runners.watch(first.runner, 8);
  for (const { submit, clock, runner } of [first, second]) {
    runners.watch(runner, 8);
    for (let i = 0; i < 3; i++) submit(1);
    await clock.advance(100);
  }
  expect(succeeded()).toBe(6);
  stopFirst();
  second.submit(1);
  await second.clock.advance(100);
  expect(succeeded()).toBe(7);
  runners.watch(first.runner, 8);
  expect(succeeded()).toBe(7);
  expect(value('batchwise_batch_size_count', { runner: 'iris' })).toBe(
    first.runner.stats().batches + second.runner.stats().batches,
  );
});

test('restarted statistics do not reset a counter', async () => {
  const { runners, value } = open();
  let { clock, submit, batcher } = runnerOf('iris');
  runners.watch({ name: 'iris', stats: () => batcher.stats() }, 8);
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

test('a larger limit adds buckets and keeps the counts', async () => {
  const { runners, value } = open();
  const { clock, submit, runner, batcher } = runnerOf('iris', { maxBatchSize: 2 });
  runners.watch(runner, 2);
  submit(2);
  await clock.advance(100);
  batcher.configure({ maxBatchSize: 6 });
  runners.watch(runner, 6);
  submit(6);
  await clock.advance(100);
  const atMost = (le: string) => value('batchwise_batch_size_bucket', { runner: 'iris', le });
  expect(['1', '2', '4', '6', '+Inf'].map(atMost)).toEqual([0, 1, 1, 2, 2]);
});

test('a runner in another process is exported only by that process', () => {
  const { runners, read } = open();
  runners.watch({ name: 'iris', stats: () => undefined }, 8);
  const families = read();
  expect(families.has('batchwise_queue_depth')).toBe(false);
  expect(families.has('batchwise_items_total')).toBe(false);
  expect(sampleValue(families, 'batchwise_batch_size_count', { runner: 'iris' })).toBe(0);
});

test('replicas of a runner are added; the slower curve is used', async () => {
  const snapshots = [];
  for (const rows of [2, 1]) {
    const { runners, registry } = open();
    const { clock, submit, runner } = runnerOf('iris');
    const stop = runners.watch(runner, 8);
    submit(rows);
    await clock.advance(100);
    const stats = { ...runner.stats(), curve: [{ cost: 1, durationMs: 10 * rows }] } as BatcherStats;
    runners.watch({ name: 'iris', stats: () => stats }, 8);
    stop();
    snapshots.push(registry.snapshot());
    runners.close();
  }
  const families = parseExposition(prometheusText(mergeSnapshots(snapshots)));
  expect(sampleValue(families, 'batchwise_batch_size_sum', { runner: 'iris' })).toBe(3);
  expect(sampleValue(families, 'batchwise_service_curve_seconds', { runner: 'iris', size: '1' })).toBe(0.02);
});
