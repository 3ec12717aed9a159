/**
 * Root cause: the number of rows came from the shape alone, and rows without elements cost nothing to send: [100000, 0]
 * made 1,000 batches.
 */
import { VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import {
  createModelRunner,
  type Datatype,
  type RunnerSettings,
  type Signature,
  type Tensor,
  type TensorSpec,
  type Tensors,
} from '../src/index.js';
import { FakeModel } from './support/fake-model.js';
import { enqueue } from './support/runner-outcome.js';
import { settingsWith } from './support/settings.js';

const spec = (name: string, shape: readonly number[], datatype: Datatype = 'FP32'): TensorSpec => ({
  name,
  datatype,
  shape,
});

/** Returns each input unchanged. */
async function running(inputs: readonly TensorSpec[], settings: RunnerSettings = settingsWith()) {
  const clock = new VirtualClock();
  const signature: Signature = { inputs, outputs: inputs };
  const model = new FakeModel({ signature, compute: (tensors) => tensors, clock });
  const runner = createModelRunner({ name: 'm', model, settings, clock });
  await clock.settle();
  await runner.ready;
  return { clock, model, runner };
}

function tensor(shape: readonly number[], datatype: Datatype = 'FP32'): Tensor {
  const length = shape.reduce((product, each) => product * each, 1);
  return { datatype, shape, data: datatype === 'BYTES' ? [] : new Float32Array(length) };
}

async function submit(
  inputs: readonly TensorSpec[],
  tensors: Tensors,
  settings: RunnerSettings = settingsWith(),
) {
  const { clock, model, runner } = await running(inputs, settings);
  const outcome = enqueue(runner, { inputs: tensors });
  await clock.settle();
  expect(outcome.settled).toBe(1);
  return { outcome, calls: model.calls.length };
}

const ANY = [spec('x', [-1, -1])];
const x = (shape: readonly number[], datatype?: Datatype) => new Map([['x', tensor(shape, datatype)]]);

describe('a request without elements', () => {
  test.each([[[1, 0]], [[3, 0]], [[64, 0]]])('of one batch is computed: %j', async (shape) => {
    const { outcome, calls } = await submit(ANY, x(shape));
    expect(calls).toBe(1);
    expect(outcome.result?.get('x')?.shape).toEqual(shape);
  });

  test.each([65, 1000, 65_536])('of more rows is not split: %d', async (rows) => {
    const { outcome, calls } = await submit(ANY, x([rows, 0]));
    expect(calls).toBe(0);
    expect(outcome.error).toMatchObject({
      code: 'INVALID_ITEM',
      message: `m: a request of ${rows} rows makes ${Math.ceil(rows / 64)} batches of 64, and a request without elements is not split.`,
    });
  });

  test.each<[string, readonly number[], readonly number[]]>([
    ['more rows than any batch has', [-1, -1], [100_000, 0]],
    ['a million rows', [-1, -1], [1_000_000, 0]],
    ['the maximum safe integer of rows', [-1, -1], [Number.MAX_SAFE_INTEGER, 0]],
    ['another large length', [-1, -1, -1], [1, 2 ** 40, 0]],
    [
      'lengths whose product is infinite',
      [-1, ...new Array(30).fill(-1)],
      [1, ...new Array(29).fill(2 ** 50), 0],
    ],
  ])('is rejected for %s, whether requests are batched or not', async (_, shape, came) => {
    const data = new Float32Array(0);
    const inputs: Tensors = new Map([['x', { datatype: 'FP32', shape: came, data }]]);
    const unlimited = settingsWith({ batching: { maxBatchSize: -1 } });
    for (const settings of [settingsWith(), unlimited, settingsWith({ batchable: false })]) {
      const { outcome, calls } = await submit([spec('x', shape)], inputs, settings);
      expect(calls).toBe(0);
      expect(outcome.error).toMatchObject({
        code: 'INVALID_ITEM',
        message: expect.stringMatching(/^input "x": /),
      });
    }
  });

  test.each<[string, readonly number[], readonly number[]]>([
    ['no rows', [-1], [0]],
    ['no rows of four', [-1, 4], [0, 4]],
    ['a length below 0', [-1, -1], [-1, 0]],
    ['a length that is not an integer', [-1, -1], [1.5, 0]],
    ['a length beyond the safe integers', [-1, -1], [2 ** 53, 0]],
    ['a length of 0 where the model requires another', [-1, 4], [100_000, 0]],
  ])('is rejected for %s', async (_, shape, came) => {
    const { outcome, calls } = await submit(
      [spec('x', shape)],
      new Map([['x', { datatype: 'FP32', shape: came, data: new Float32Array(0) }]]),
    );
    expect(calls).toBe(0);
    expect(outcome.error?.code).toBe('INVALID_ITEM');
  });

  test('along another batch dimension is not split either', async () => {
    const settings = settingsWith({ batchDim: [1, 1] });
    expect((await submit(ANY, x([0, 64]), settings)).calls).toBe(1);
    for (const rows of [65, 100_000]) {
      const { outcome, calls } = await submit(ANY, x([0, rows]), settings);
      expect([calls, outcome.error?.code]).toEqual([0, 'INVALID_ITEM']);
    }
    expect((await submit(ANY, x([5, 0]), settings)).outcome.error?.message).toMatch(
      /at least 1 row along dimension 1/,
    );
  });

  test('of BYTES is not split either', async () => {
    const { outcome, calls } = await submit([spec('x', [-1, -1], 'BYTES')], x([5000, 0], 'BYTES'));
    expect([calls, outcome.error?.code]).toEqual([0, 'INVALID_ITEM']);
  });

  test('in all of several inputs is not split either', async () => {
    const inputs = [spec('x', [-1, -1]), spec('y', [-1, 0])];
    const { outcome, calls } = await submit(
      inputs,
      new Map([
        ['x', tensor([5000, 0])],
        ['y', tensor([5000, 0])],
      ]),
    );
    expect([calls, outcome.error?.code]).toEqual([0, 'INVALID_ITEM']);
  });
});

test('a request with elements in one of its inputs is split by rows as any other', async () => {
  const { outcome, calls } = await submit(
    [spec('ids', [-1, -1]), spec('cache', [-1, 2, -1, 8])],
    new Map([
      ['ids', tensor([150, 3])],
      ['cache', tensor([150, 2, 0, 8])],
    ]),
  );
  expect(calls).toBe(3);
  expect(outcome.result?.get('ids')?.shape).toEqual([150, 3]);
  expect(outcome.result?.get('cache')?.shape).toEqual([150, 2, 0, 8]);
});

test('a request that would make very many batches is rejected', async () => {
  const settings = settingsWith({ batching: { maxBatchSize: 1, maxQueueSize: 100_000 } });
  expect((await submit(ANY, x([4096, 1]), settings)).calls).toBe(4096);
  const { outcome, calls } = await submit(ANY, x([4097, 1]), settings);
  expect(calls).toBe(0);
  expect(outcome.error?.message).toBe(
    'm: a request of 4097 rows makes 4097 batches of 1, more than the maximum of 4096 per request.',
  );
});
