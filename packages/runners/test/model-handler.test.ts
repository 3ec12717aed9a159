import { getEventListeners } from 'node:events';
import { type BatchContext, Batcher, type BatcherOptions, BatchwiseError, VirtualClock } from 'batchwise';
import { expect, test } from 'vitest';
import {
  createModelHandler,
  type RequestData,
  type ResultData,
  type RunnerSettings,
  requestToData,
  resultFromData,
  type Signature,
} from '../src/index.js';
import {
  DOUBLING,
  doubled,
  FakeModel,
  type FakeModelOptions,
  floats,
  numbersOf,
} from './support/fake-model.js';
import { settingsWith } from './support/settings.js';

async function started(settings: RunnerSettings = settingsWith(), options: Partial<FakeModelOptions> = {}) {
  const clock = new VirtualClock();
  const model = new FakeModel({ signature: DOUBLING, compute: doubled, clock, ...options });
  const handler = await createModelHandler({ name: 'doubling', model, settings, clock });
  // A processor is a batcher around the handler.
  const processor = new Batcher<unknown, unknown>(handler.handler, {
    ...(handler.options as BatcherOptions<unknown>),
    clock,
  });
  return { clock, model, handler, processor };
}

/** Rows [n, 0], [n + 1, 0] … */
function rowsFrom(n: number, count = 1, outputs?: readonly string[]): RequestData {
  const values = Array.from({ length: count }, (_, row) => [n + row, 0]).flat();
  return requestToData({ inputs: new Map([['x', floats([count, 2], values)]]), outputs });
}

function sumsOf(result: unknown): number[] {
  return numbersOf(resultFromData(result).tensors.get('sum'));
}

test('the requests of a batch run in one call, and each result has the size of the batch', async () => {
  const { clock, model, processor } = await started();
  const answers = processor.submitMany([rowsFrom(1), rowsFrom(10, 3), rowsFrom(20)]);
  await clock.settle();
  const results = (await answers) as ResultData[];
  expect(results.map(sumsOf)).toEqual([[1], [10, 11, 12], [20]]);
  expect(results.map(({ batchSize }) => batchSize)).toEqual([5, 5, 5]);
  expect(model.shapesOf('x')).toEqual([[5, 2]]);
});

test('the cost of a request is its rows, so that no batch exceeds its limit', async () => {
  const { clock, model, processor } = await started(settingsWith({ batching: { maxBatchSize: 4 } }));
  const answers = processor.submitMany([rowsFrom(1, 3), rowsFrom(10, 3), rowsFrom(20)]);
  await clock.settle();
  expect(((await answers) as unknown[]).map(sumsOf)).toEqual([[1, 2, 3], [10, 11, 12], [20]]);
  expect(model.shapesOf('x').map(([rows]) => rows)).toEqual([3, 4]);
  expect(processor.stats().batches).toBe(2);
});

test('a request with more rows than a batch is split', async () => {
  const { clock, model, processor } = await started(settingsWith({ batching: { maxBatchSize: 4 } }));
  const answer = processor.submit(rowsFrom(1, 10));
  await clock.settle();
  expect(sumsOf(await answer)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(model.shapesOf('x').map(([rows]) => rows)).toEqual([4, 4, 2]);
});

test('rows as nested arrays share batches with requests and get rows back', async () => {
  const { clock, model, processor } = await started();
  const answers = processor.submitMany([[5, 6], rowsFrom(1)]);
  await clock.settle();
  const [row, result] = await answers;
  expect(row).toEqual({ double: [10, 12], sum: 11 });
  expect(sumsOf(result)).toEqual([1]);
  expect(model.shapesOf('x')).toEqual([[2, 2]]);
});

test('only the requested outputs are returned', async () => {
  const { clock, processor } = await started();
  const answer = processor.submit(rowsFrom(1, 1, ['sum']));
  await clock.settle();
  expect([...resultFromData(await answer).tensors.keys()]).toEqual(['sum']);
});

const OPEN: Signature = {
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, -1] }],
  outputs: DOUBLING.outputs.map((output) => ({ ...output, shape: output.shape.map(() => -1) })),
};

test('requests of different shapes have different groups', async () => {
  const { clock, model, processor } = await started(settingsWith(), { signature: OPEN });
  const wide = requestToData({ inputs: new Map([['x', floats([1, 3], [1, 2, 3])]]) });
  const answers = processor.submitMany([rowsFrom(1), wide, rowsFrom(2), wide]);
  await clock.settle();
  expect(((await answers) as unknown[]).map(sumsOf)).toEqual([[1], [6], [2], [6]]);
  expect(model.shapesOf('x').toSorted()).toEqual([
    [2, 2],
    [2, 3],
  ]);
  expect(processor.stats().batches).toBe(2);
});

test('a model without open dimensions has no groups', async () => {
  const { handler } = await started();
  expect(handler.options.groupOf).toBeUndefined();
});

test.each<[string, unknown, string]>([
  [
    'that is malformed',
    { inputs: [['x', 'FP32', [1, 2], new Uint8Array(3)]] },
    'doubling: invalid request: inputs[0]: expected 8 bytes.',
  ],
  [
    'of another model',
    requestToData({ inputs: new Map([['y', floats([1, 2], [1, 2])]]) }),
    'input "x" is missing: expected FP32 of shape [-1,2], got only "y".',
  ],
  [
    'of another shape',
    requestToData({ inputs: new Map([['x', floats([1, 3], [1, 2, 3])]]) }),
    'input "x": expected shape [-1,2] (-1 is any length), got shape [1,3].',
  ],
])('a request %s is rejected, and the other requests of its batch succeed', async (_, wrong, message) => {
  const { clock, processor } = await started();
  const answers = [rowsFrom(1), wrong, rowsFrom(2)].map((item) => processor.submit(item));
  const outcomes = Promise.allSettled(answers);
  await clock.settle();
  const [first, second, third] = await outcomes;
  expect(second).toMatchObject({ status: 'rejected', reason: { code: 'INVALID_ITEM', message } });
  expect([first, third].map((outcome) => outcome?.status)).toEqual(['fulfilled', 'fulfilled']);
});

test('a request that the model fails on fails alone', async () => {
  const { clock, processor } = await started(settingsWith(), {
    compute: (inputs, call) => {
      if (numbersOf(inputs.get('x')).includes(13)) throw new Error('13 brings bad luck');
      return doubled(inputs, call);
    },
  });
  const answers = [rowsFrom(1), rowsFrom(13), rowsFrom(2)].map((item) => processor.submit(item));
  const outcomes = Promise.allSettled(answers);
  await clock.settle();
  const [first, second, third] = await outcomes;
  expect(second).toMatchObject({ status: 'rejected' });
  expect(String((second as PromiseRejectedResult).reason)).toContain('bad luck');
  expect([first, third].map((outcome) => outcome?.status)).toEqual(['fulfilled', 'fulfilled']);
});

test('the signal of the model fires when all callers of a batch have cancelled', async () => {
  const { clock, model, processor } = await started();
  model.held = [];
  const aborter = new AbortController();
  const answers = [1, 2].map((n) => processor.submit(rowsFrom(n), { signal: aborter.signal }));
  const outcomes = Promise.allSettled(answers);
  await clock.settle();
  expect(model.calls[0]?.call.signal?.aborted).toBe(false);
  aborter.abort();
  await clock.settle();
  expect(model.calls[0]?.call.signal?.aborted).toBe(true);
  model.release();
  for (const outcome of await outcomes) {
    expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(BatchwiseError);
  }
});

// Each row added its own listener, and Node warned of a memory leak for a batch of eleven.
test('a batch of rows adds one listener to its signal, which cancels all rows', async () => {
  const { clock, model, handler } = await started();
  model.held = [];
  const aborter = new AbortController();
  const { signal } = aborter;
  const rows = Array.from({ length: 20 }, (_, n) => [n, n]);
  const results = handler.handler(rows, { signal } as BatchContext);
  await clock.settle();
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  aborter.abort();
  expect(await results).toEqual(rows.map(() => expect.objectContaining({ code: 'CANCELLED' })));
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  model.release();
});

test('a model with a fixed batch dimension gets batches of one', async () => {
  const signature: Signature = { ...DOUBLING, inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 2] }] };
  const { clock, model, handler, processor } = await started(settingsWith(), { signature });
  expect(handler.options.maxBatchSize).toBe(1);
  const answers = processor.submitMany([rowsFrom(1), rowsFrom(2)]);
  await clock.settle();
  expect(((await answers) as unknown[]).map(sumsOf)).toEqual([[1], [2]]);
  expect(model.shapesOf('x')).toEqual([
    [1, 2],
    [1, 2],
  ]);
});

test('closing closes the model', async () => {
  const { handler, model } = await started();
  await handler.close();
  expect(model.isClosed).toBe(true);
});
