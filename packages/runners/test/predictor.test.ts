import { getEventListeners } from 'node:events';
import { VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import {
  createFunctionRunner,
  createModelRunner,
  type Predictor,
  predictor,
  type Signature,
  type Tensor,
  type Tensors,
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

const ECHO: Signature = {
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, 2, 2] }],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1, 2, 2] }],
};
const echo = (inputs: Tensors): Tensors => new Map([['y', inputs.get('x') as Tensor]]);

async function loadedPredictor(options: Partial<FakeModelOptions> = {}, settings = settingsWith()) {
  const clock = new VirtualClock();
  const model = new FakeModel({ signature: ECHO, compute: echo, ...options });
  const runner = createModelRunner({ name: 'echo', model, settings, clock });
  await runner.ready;
  return { clock, model, runner, predictor: predictor(runner, settings.batchDim) };
}

/** Awaits the result in virtual time. */
async function answer<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  await clock.advance(10);
  return promise;
}

describe('the predictor of a model', () => {
  test('takes and returns a row as nested arrays', async () => {
    const { clock, model, predictor } = await loadedPredictor();
    const row = [
      [1, 2],
      [3, 4.5],
    ];
    expect(await answer(clock, predictor.predict(row))).toEqual(row);
    expect(model.shapesOf('x')).toEqual([[1, 2, 2]]);
  });

  test('takes a row as a typed array', async () => {
    const { clock, predictor } = await loadedPredictor();
    expect(await answer(clock, predictor.predict(Float32Array.of(1, 2, 3, 4)))).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  test('many rows are one request', async () => {
    const { clock, model, predictor } = await loadedPredictor();
    const rows = [Float32Array.of(1, 2, 3, 4), Float32Array.of(5, 6, 7, 8)];
    expect(await answer(clock, predictor.predictMany(rows))).toEqual([
      [
        [1, 2],
        [3, 4],
      ],
      [
        [5, 6],
        [7, 8],
      ],
    ]);
    expect(model.shapesOf('x')).toEqual([[2, 2, 2]]);
    expect(await predictor.predictMany([])).toEqual([]);
  });

  test('a model with a fixed batch dimension gets one request per row', async () => {
    const signature = { ...ECHO, inputs: [{ ...ECHO.inputs[0], shape: [1, 2, 2] }] } as Signature;
    const { clock, model, predictor } = await loadedPredictor({ signature });
    const rows = [Float32Array.of(1, 2, 3, 4), Float32Array.of(5, 6, 7, 8)];
    expect(await answer(clock, predictor.predictMany(rows))).toHaveLength(2);
    expect(model.calls).toHaveLength(2);
  });

  test('works without batchable: true', async () => {
    const { clock, predictor } = await loadedPredictor({}, settingsWith({ batchable: false }));
    expect(await answer(clock, predictor.predict(Float32Array.of(1, 2, 3, 4)))).toHaveLength(2);
  });

  test('rows are along the batch dimension of the settings', async () => {
    const signature: Signature = {
      inputs: [{ name: 'x', datatype: 'FP32', shape: [2, -1] }],
      outputs: [{ name: 'y', datatype: 'FP32', shape: [2, -1] }],
    };
    const { clock, model, predictor } = await loadedPredictor(
      { signature },
      settingsWith({ batchDim: [1, 1] }),
    );
    const rows = [
      [1, 2],
      [3, 4],
      [5, 6],
    ];
    expect(await answer(clock, predictor.predictMany(rows))).toEqual(rows);
    expect(model.shapesOf('x')).toEqual([[2, 3]]);
    expect(numbersOf(model.calls[0]?.inputs.get('x'))).toEqual([1, 3, 5, 2, 4, 6]);
  });

  test('several outputs are a record without a prototype', async () => {
    const { clock, predictor } = await loadedPredictor({ signature: DOUBLING, compute: doubled });
    const prediction = await answer(clock, predictor.predict([1, 2]));
    expect(prediction).toEqual(Object.assign(Object.create(null), { double: [2, 4], sum: 3 }));
    expect(Object.getPrototypeOf(prediction)).toBeNull();
    const many = (await answer(
      clock,
      predictor.predictMany([
        [1, 2],
        [3, 4],
      ]),
    )) as { sum: number }[];
    expect(many.map(({ sum }) => sum)).toEqual([3, 7]);
  });

  test('several inputs are a record of rows', async () => {
    const signature: Signature = {
      inputs: [
        { name: 'x', datatype: 'FP32', shape: [-1, 2] },
        { name: 'id', datatype: 'INT64', shape: [-1] },
      ],
      outputs: [{ name: 'y', datatype: 'INT64', shape: [-1] }],
    };
    const compute = (inputs: Tensors): Tensors => new Map([['y', inputs.get('id') as Tensor]]);
    const { clock, predictor } = await loadedPredictor({ signature, compute });
    expect(await answer(clock, predictor.predict({ x: [1, 2], id: 7 }))).toBe(7);
    expect(await answer(clock, predictor.predict({ x: [1, 2], id: 2n ** 60n }))).toBe(2n ** 60n);
    await expect(answer(clock, predictor.predict({ x: [1, 2] }))).rejects.toThrow(
      /record of "x", "id".*"id" is missing/,
    );
    await expect(answer(clock, predictor.predict([1, 2]))).rejects.toMatchObject({ code: 'INVALID_ITEM' });
  });

  test.each<[string, unknown, RegExp]>([
    ['too few', [[1, 2], [3]], /row 0 of input "x": expected 2 at depth 2 of shape \[2,2\], got 1/],
    [
      'too many',
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      /expected 2 at depth 1.*got 3/,
    ],
    ['flat', [1, 2, 3, 4], /expected nested arrays of shape \[2,2\], got 1 at depth 2/],
    [
      'too deep',
      [
        [[1], 2],
        [3, 4],
      ],
      /expected a number as element 0, got an array of 1/,
    ],
    [
      'a string in it',
      [
        [1, '2'],
        [3, 4],
      ],
      /expected a number as element 1, got string/,
    ],
    ['null', null, /expected nested arrays of shape \[2,2\], got null/],
    ['nothing', undefined, /got undefined/],
    ['an object', { length: 2 }, /got object/],
    ['holes', [new Array(2), [3, 4]], /expected a number as element 0, got undefined/],
    ['a short typed array', new Float32Array(3), /expected 4 elements for shape \[2,2\], got 3/],
    ['a typed array of another type', new Float64Array(4), /expected a Float32Array.*got a Float64Array/],
  ])('a row that is %s is rejected with the reason', async (_, row, message) => {
    const { clock, predictor } = await loadedPredictor();
    const refused = answer(clock, predictor.predict(row));
    await expect(refused).rejects.toMatchObject({
      code: 'INVALID_ITEM',
      message: expect.stringMatching(message),
    });
  });

  test('infer() takes and returns tensors', async () => {
    const { clock, predictor } = await loadedPredictor({ signature: DOUBLING, compute: doubled });
    const inputs = new Map([['x', floats([1, 2], [1, 2])]]);
    const outputs = await answer(clock, predictor.infer(inputs, { outputs: ['sum'] }));
    expect([...outputs.entries()]).toEqual([['sum', floats([1], [3])]]);
  });

  test('a model that is not loaded is UNAVAILABLE', async () => {
    const model = new FakeModel({ signature: ECHO, compute: echo });
    const runner = createModelRunner({ name: 'echo', model, settings: settingsWith() });
    await expect(predictor(runner).predict([1])).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    await runner.ready;
    await runner.close();
  });
});

describe('the predictor of a function', () => {
  function tenfold(maxQueueSize = 100) {
    const clock = new VirtualClock();
    const batches: number[][] = [];
    const runner = createFunctionRunner<number, number>({
      name: 'tenfold',
      handler: async (items) => {
        batches.push(items);
        await new Promise<void>((resolve) => clock.setTimer(resolve, 1));
        return items.map((item) => (item < 0 ? new Error('negative') : 10 * item));
      },
      settings: settingsWith({ batching: { maxBatchSize: 2, maxQueueSize } }),
      clock,
    });
    return { clock, batches, runner, predictor: predictor(runner) as Predictor<number, number> };
  }

  test('predict() returns the result of an item, predictMany() the results in order', async () => {
    const { clock, predictor } = tenfold();
    expect(await answer(clock, predictor.predict(4))).toBe(40);
    expect(await answer(clock, predictor.predictMany([1, 2, 3]))).toEqual([10, 20, 30]);
  });

  test('one failed item fails the request', async () => {
    const { clock, predictor } = tenfold();
    await expect(answer(clock, predictor.predictMany([1, -2, 3]))).rejects.toThrow('negative');
  });

  test('an item rejected at admission rejects the whole request', async () => {
    const { clock, batches, predictor, runner } = tenfold(3);
    const busy = predictor.predict(9);
    await clock.settle();
    const refused = expect(predictor.predictMany([1, 2, 3, 4, 5])).rejects.toMatchObject({
      code: 'QUEUE_FULL',
    });
    expect(runner.stats()).toMatchObject({ queued: 3, refused: 1 });
    await refused;
    expect(runner.stats()).toMatchObject({ queued: 0, cancelled: 3, submitted: 5 });
    expect(await answer(clock, busy)).toBe(90);
    expect(batches).toEqual([[9]]);
  });

  // Each item added its own listener, and Node warned of a memory leak for eleven items.
  test('predictMany() adds one listener to a signal, which cancels all items', async () => {
    const { clock, predictor, runner } = tenfold();
    const aborter = new AbortController();
    const { signal } = aborter;
    const answers = predictor.predictMany(
      Array.from({ length: 20 }, (_, item) => item),
      { signal },
    );
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    aborter.abort();
    await expect(answers).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    expect(runner.stats()?.cancelled).toBe(20);
    await clock.advance(1);
    await expect(predictor.predictMany([1, 2], { signal })).rejects.toMatchObject({ code: 'CANCELLED' });
  });

  test('predictMany() rejects values that are not arrays, and infer() is rejected', async () => {
    const { predictor } = tenfold();
    await expect(predictor.predictMany('12' as never)).rejects.toMatchObject({ code: 'INVALID_ITEM' });
    await expect(predictor.infer(new Map())).rejects.toThrow(/infer\(\) is for models/);
  });
});

describe('an AbortSignal', () => {
  /** A signal that counts its listeners. */
  function counted() {
    const controller = new AbortController();
    const { signal } = controller;
    let listeners = 0;
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
      listeners += 1;
      addEventListener.apply(signal, args);
    };
    signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
      listeners -= 1;
      removeEventListener.apply(signal, args);
    };
    return { controller, signal, listeners: () => listeners };
  }

  test('rejects the call, and its listener is removed', async () => {
    const { clock, model, runner, predictor } = await loadedPredictor();
    model.held = [];
    const { controller, signal, listeners } = counted();
    const promise = predictor.predict(Float32Array.of(1, 2, 3, 4), { signal, timeoutMs: 1000 });
    promise.catch(() => {});
    await clock.settle();
    expect(listeners()).toBe(1);
    controller.abort(new Error('enough'));
    await expect(promise).rejects.toMatchObject({ code: 'CANCELLED', cause: new Error('enough') });
    expect(listeners()).toBe(0);
    expect(runner.stats()?.cancelled).toBe(1);
    model.release();
    await clock.settle();
  });

  test('has no listener after the result', async () => {
    const { clock, predictor } = await loadedPredictor();
    const { signal, listeners } = counted();
    await answer(clock, predictor.predict(Float32Array.of(1, 2, 3, 4), { signal }));
    expect(listeners()).toBe(0);
  });

  test('that has fired rejects the call', async () => {
    const { runner, predictor } = await loadedPredictor();
    const signal = AbortSignal.abort();
    const promise = predictor.predict(Float32Array.of(1, 2, 3, 4), { signal });
    await expect(promise).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(runner.stats()?.submitted).toBe(0);
  });
});
