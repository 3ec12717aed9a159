import { VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { createModelRunner, type RunnerSettings, type Signature, type Tensors } from '../src/index.js';
import { DOUBLING, doubled, FakeModel, type FakeModelOptions, numbersOf } from './support/fake-model.js';
import { settingsWith } from './support/settings.js';

const rowsOf = (inputs: Tensors) => inputs.get('x')?.shape[0] as number;

async function warmed(settings: RunnerSettings, options: Partial<FakeModelOptions> = {}) {
  const clock = new VirtualClock();
  const model = new FakeModel({ signature: DOUBLING, compute: doubled, clock, ...options });
  const runner = createModelRunner({ name: 'doubling', model, settings, clock });
  const settled = runner.ready.catch((error: Error) => error);
  await clock.advance(100_000);
  return { model, runner, error: await settled, rows: model.shapesOf('x').map(([rows]) => rows as number) };
}

test('runs zeros for every power of two up to the largest batch, for each round', async () => {
  const { model, rows, runner } = await warmed(settingsWith({ warmup: 2, batching: { maxBatchSize: 12 } }));
  expect(rows).toEqual([1, 1, 2, 2, 4, 4, 8, 8, 12, 12]);
  for (const { inputs } of model.calls) expect(new Set(numbersOf(inputs.get('x')))).toEqual(new Set([0]));
  expect(runner.state).toBe('ready');
  expect(runner.stats()?.submitted).toBe(0);
});

test('the measured durations are in the service curve from the start', async () => {
  const durationMs = (inputs: Tensors) => 5 + rowsOf(inputs);
  const { runner } = await warmed(settingsWith({ warmup: 3, batching: { maxBatchSize: 4 } }), { durationMs });
  expect(runner.stats()?.curve).toEqual([
    { cost: 1, durationMs: 6 },
    { cost: 2, durationMs: 7 },
    { cost: 4, durationMs: 9 },
  ]);
});

test('the slow first round is ignored', async () => {
  let calls = 0;
  const durationMs = () => (calls++ === 0 ? 5000 : 3);
  const { runner } = await warmed(settingsWith({ warmup: 2, batching: { maxBatchSize: 1 } }), { durationMs });
  expect(runner.stats()?.curve).toEqual([{ cost: 1, durationMs: 3 }]);
});

test('all slots are warmed up concurrently', async () => {
  const { rows } = await warmed(settingsWith({ warmup: 1, concurrency: 3, batching: { maxBatchSize: 2 } }));
  expect(rows).toEqual([1, 1, 1, 2, 2, 2]);
});

test('skips sizes above the target latency or the row limit', async () => {
  const durationMs = (inputs: Tensors) => 100 * rowsOf(inputs);
  const slow = settingsWith({ warmup: 2, batching: { maxBatchSize: 64, targetLatencyMs: 300 } });
  expect(new Set((await warmed(slow, { durationMs })).rows)).toEqual(new Set([1, 2, 4]));
  const huge = settingsWith({ warmup: 1, batching: { maxBatchSize: 1_000_000 } });
  expect(Math.max(...(await warmed(huge)).rows)).toBe(1024);
});

test('without batching one row is enough', async () => {
  expect((await warmed(settingsWith({ warmup: 2, batching: { enabled: false } }))).rows).toEqual([1, 1]);
  expect((await warmed(settingsWith({ warmup: 2, batchable: false }))).rows).toEqual([1, 1]);
  expect((await warmed(settingsWith({ warmup: 0 }))).rows).toEqual([]);
});

describe('a model that fails', () => {
  const failsFrom =
    (rows: number): FakeModelOptions['compute'] =>
    (inputs, call) => {
      if (rowsOf(inputs) >= rows) throw new Error('too much for me');
      return doubled(inputs, call);
    };

  test('at a size: the error has this size and the largest size that works', async () => {
    const { runner, error } = await warmed(settingsWith({ warmup: 1 }), { compute: failsFrom(8) });
    expect(runner.state).toBe('failed');
    expect((error as Error).message).toMatch(
      /doubling.*warm-up with 8 rows: too much for me.*Batches of 4 work: set batching.max_batch_size to 4/,
    );
  });

  test('at size 1: the error says how to disable warm-up', async () => {
    const { error } = await warmed(settingsWith({ warmup: 1 }), { compute: failsFrom(1) });
    expect((error as Error).message).toMatch(/with 1 row: too much for me.*warmup to 0/);
  });

  test('at guessed lengths is served', async () => {
    const signature: Signature = {
      inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, -1] }],
      outputs: DOUBLING.outputs,
    };
    const { runner } = await warmed(settingsWith({ warmup: 1 }), { signature, compute: failsFrom(1) });
    expect(runner.state).toBe('ready');
  });
});
