import { BatchwiseError, VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createModelRunner,
  type InferCall,
  type InferRequest,
  type ModelRunner,
  type RunnerSettings,
  type Signature,
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
import { enqueue, type RunnerOutcome } from './support/runner-outcome.js';
import { settingsWith } from './support/settings.js';

async function running(settings: RunnerSettings = settingsWith(), options: Partial<FakeModelOptions> = {}) {
  const clock = new VirtualClock();
  const model = new FakeModel({ signature: DOUBLING, compute: doubled, clock, ...options });
  const runner = createModelRunner({ name: 'doubling', model, settings, clock });
  await clock.settle();
  await runner.ready;
  return { clock, model, runner };
}

/** A runner whose batches take 10 ms, and whose service curve has learned it. */
async function runningSteadily(batching: { maxBatchSize: number; targetLatencyMs: number }) {
  const started = await running(settingsWith({ batching }), { durationMs: () => 10 });
  enqueue(started.runner, rowsFrom(0, batching.maxBatchSize));
  await started.clock.advance(10);
  return started;
}

/** Rows [n, 0], [n + 1, 0] … */
function rowsFrom(n: number, count = 1, outputs?: readonly string[]): InferRequest {
  const values = Array.from({ length: count }, (_, row) => [n + row, 0]).flat();
  return { inputs: new Map([['x', floats([count, 2], values)]]), outputs };
}

function expectRowsFrom(outcome: RunnerOutcome<Tensors>, n: number, count = 1): void {
  expect(outcome.error).toBeUndefined();
  expect(outcome.settled).toBe(1);
  expect(outcome.result?.get('double')?.shape).toEqual([count, 2]);
  expect(numbersOf(outcome.result?.get('double'))).toEqual(
    Array.from({ length: count }, (_, row) => [2 * (n + row), 0]).flat(),
  );
  expect(numbersOf(outcome.result?.get('sum'))).toEqual(Array.from({ length: count }, (_, row) => n + row));
}

function rowsOfCalls(model: FakeModel): number[] {
  return model.shapesOf('x').map(([rows]) => rows as number);
}

describe('batches', () => {
  test('requests submitted together run together, and each gets its own rows', async () => {
    const { clock, model, runner } = await running();
    const outcomes = [
      enqueue(runner, rowsFrom(1)),
      enqueue(runner, rowsFrom(10, 3)),
      enqueue(runner, rowsFrom(20)),
    ];
    await clock.settle();
    expect(model.shapesOf('x')).toEqual([[5, 2]]);
    expectRowsFrom(outcomes[0] as RunnerOutcome<Tensors>, 1);
    expectRowsFrom(outcomes[1] as RunnerOutcome<Tensors>, 10, 3);
    expectRowsFrom(outcomes[2] as RunnerOutcome<Tensors>, 20);
  });

  test('a single request and its result are passed on without a copy', async () => {
    const { clock, model, runner } = await running();
    const request = rowsFrom(1, 2);
    const outcome = enqueue(runner, request);
    await clock.settle();
    expect(model.calls[0]?.inputs).toBe(request.inputs);
    expect(model.calls[0]?.call.ownsInputs).toBe(false);
    expectRowsFrom(outcome, 1, 2);
  });

  test('the model owns the inputs only if they were concatenated', async () => {
    const { clock, model, runner } = await running();
    const requests = [rowsFrom(1), rowsFrom(2)];
    for (const request of requests) enqueue(runner, request);
    await clock.settle();
    expect(model.calls[0]?.call.ownsInputs).toBe(true);
    const sent = model.calls[0]?.inputs.get('x');
    for (const { inputs } of requests) expect(inputs.get('x')?.data).not.toBe(sent?.data);
  });

  test('each request gets its requested outputs, independent of other requests', async () => {
    const { clock, model, runner } = await running();
    const sum = enqueue(runner, rowsFrom(1, 1, ['sum']));
    const double = enqueue(runner, rowsFrom(2, 1, ['double']));
    await clock.settle();
    expect(model.calls).toHaveLength(1);
    expect([...(sum.result?.keys() ?? [])]).toEqual(['sum']);
    expect([...(double.result?.keys() ?? [])]).toEqual(['double']);
    const all = enqueue(runner, rowsFrom(3, 1, []));
    const one = enqueue(runner, rowsFrom(4, 1, ['sum']));
    await clock.settle();
    expect([...(all.result?.keys() ?? [])]).toEqual(['double', 'sum']);
    expect([...(one.result?.keys() ?? [])]).toEqual(['sum']);
    enqueue(runner, rowsFrom(5, 1, ['sum']));
    await clock.settle();
    expect(model.calls.at(-1)?.call.outputs).toEqual(['sum']);
  });

  test.each([true, false])(
    'a request gets only its requested outputs, batchable or not: %s',
    async (batchable) => {
      // Root cause: for a request that was a batch of its own, all outputs of the model were returned.
      const compute = (inputs: Tensors) =>
        new Map([...doubled(inputs, {} as InferCall), ['secret', floats([1], [7])]]);
      const { clock, runner } = await running(settingsWith({ batchable }), { compute });
      const one = enqueue(runner, rowsFrom(1, 1, ['sum']));
      const all = enqueue(runner, rowsFrom(2));
      await clock.settle();
      expect([one, all].map(({ result }) => [...(result?.keys() ?? [])])).toEqual([
        ['sum'],
        ['double', 'sum'],
      ]);
    },
  );

  test('a duplicate output name is removed', async () => {
    // Root cause: the names were passed to the model unchanged, and models reject duplicates.
    const { clock, model, runner } = await running();
    const outcome = enqueue(runner, rowsFrom(1, 1, ['sum', 'sum']));
    await clock.settle();
    expect(model.calls[0]?.call.outputs).toEqual(['sum']);
    expect([...(outcome.result?.keys() ?? [])]).toEqual(['sum']);
  });

  test('the trace has the rows of the batch, the queue wait and the duration', async () => {
    const { clock, model, runner } = await running(settingsWith(), { durationMs: () => 7 });
    enqueue(runner, rowsFrom(0));
    await clock.advance(2);
    const outcomes = [enqueue(runner, rowsFrom(1)), enqueue(runner, rowsFrom(2, 2))];
    await clock.advance(12);
    expect(rowsOfCalls(model)).toEqual([1, 3]);
    for (const { trace } of outcomes) expect(trace).toEqual({ batchSize: 3, queueMs: 5, computeMs: 7 });
  });

  test('only rows of the same length share a batch', async () => {
    const signature: Signature = {
      inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, -1] }],
      outputs: DOUBLING.outputs,
    };
    const { clock, model, runner } = await running(settingsWith(), { signature });
    const of = (width: number) => ({
      inputs: new Map([['x', floats([1, width], new Array(width).fill(1))]]),
    });
    const outcomes = [2, 3, 2, 3, 3].map((width) => ({ width, outcome: enqueue(runner, of(width)) }));
    await clock.settle();
    expect(model.shapesOf('x')).toEqual([
      [2, 2],
      [3, 3],
    ]);
    for (const { width, outcome } of outcomes) {
      expect(numbersOf(outcome.result?.get('double'))).toEqual(new Array(width).fill(2));
    }
  });

  test('rows along another dimension than the first are split correctly', async () => {
    const signature: Signature = {
      inputs: [{ name: 'x', datatype: 'FP32', shape: [2, -1] }],
      outputs: [{ name: 'y', datatype: 'FP32', shape: [1, 2, -1] }],
    };
    const compute = (inputs: Tensors): Tensors => {
      const x = inputs.get('x');
      return new Map([['y', floats([1, ...(x?.shape ?? [])], numbersOf(x))]]);
    };
    const { clock, model, runner } = await running(settingsWith({ batchDim: [1, 2] }), {
      signature,
      compute,
    });
    const one = enqueue(runner, { inputs: new Map([['x', floats([2, 1], [1, 2])]]) });
    const two = enqueue(runner, { inputs: new Map([['x', floats([2, 2], [3, 4, 5, 6])]]) });
    await clock.settle();
    expect(model.shapesOf('x')).toEqual([[2, 3]]);
    expect(one.result?.get('y')).toEqual(floats([1, 2, 1], [1, 2]));
    expect(two.result?.get('y')).toEqual(floats([1, 2, 2], [3, 4, 5, 6]));
  });
});

describe('limits', () => {
  test('for any requests, no batch exceeds its limit and each request gets its own rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.integer({ min: 1, max: 25 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 1, max: 3 }),
        async (maxBatchSize, rowCounts, concurrency) => {
          const settings = settingsWith({ concurrency, batching: { maxBatchSize } });
          const { clock, model, runner } = await running(settings, { durationMs: () => 1 });
          const outcomes = rowCounts.map((count, i) => ({
            count,
            i,
            outcome: enqueue(runner, rowsFrom(100 * i, count)),
          }));
          await clock.advance(400);
          for (const rows of rowsOfCalls(model)) expect(rows).toBeLessThanOrEqual(maxBatchSize);
          for (const { count, i, outcome } of outcomes) expectRowsFrom(outcome, 100 * i, count);
        },
      ),
      { numRuns: 40 },
    );
  });

  test('a request larger than a batch is split; its trace has the last and the largest part', async () => {
    const settings = settingsWith({ batching: { maxBatchSize: 4 } });
    const { clock, model, runner } = await running(settings, { durationMs: () => 5 });
    const outcome = enqueue(runner, rowsFrom(1, 9));
    await clock.advance(15);
    expect(rowsOfCalls(model)).toEqual([4, 4, 1]);
    expectRowsFrom(outcome, 1, 9);
    expect(outcome.trace).toEqual({ batchSize: 4, queueMs: 10, computeMs: 5 });
  });

  test('the rest of a split request shares its batch with other requests', async () => {
    const { clock, model, runner } = await running(settingsWith({ batching: { maxBatchSize: 4 } }));
    const large = enqueue(runner, rowsFrom(1, 5));
    const small = enqueue(runner, rowsFrom(50, 2));
    await clock.settle();
    expect(rowsOfCalls(model)).toEqual([4, 3]);
    expectRowsFrom(large, 1, 5);
    expectRowsFrom(small, 50, 2);
  });

  test('a rejected part rejects the whole request once', async () => {
    const settings = settingsWith({ batching: { maxBatchSize: 2, maxQueueSize: 3 } });
    const { clock, model, runner } = await running(settings);
    model.held = [];
    enqueue(runner, rowsFrom(0));
    await clock.settle();
    enqueue(runner, rowsFrom(1));
    const split = enqueue(runner, rowsFrom(10, 6));
    expect(split).toMatchObject({ settled: 1, error: { code: 'QUEUE_FULL' } });
    expect(runner.stats()?.queued).toBe(1);
    model.release();
    await clock.settle();
    expect(split.settled).toBe(1);
  });

  test('a request that can never fit in the queue is invalid', async () => {
    const { runner } = await running(settingsWith({ batching: { maxBatchSize: 2, maxQueueSize: 3 } }));
    expect(enqueue(runner, rowsFrom(0, 7)).error).toMatchObject({
      code: 'INVALID_ITEM',
      message: expect.stringMatching(/7 rows makes 4 batches of 2, more than the queue can hold \(3\)/),
    });
  });

  // Root cause: the parts were admitted one by one, until admission rejected one because of the parts before it,
  // which were of the same request. Each time, from an idle backend, the caller got a short retry time.
  test('a request that cannot meet its deadline on an idle backend is invalid, and not counted', async () => {
    const { clock, model, runner } = await runningSteadily({ maxBatchSize: 4, targetLatencyMs: 100 });
    expect(enqueue(runner, rowsFrom(0, 84)).error).toMatchObject({
      code: 'INVALID_ITEM',
      message: expect.stringMatching(
        /84 rows makes 21 batches of 4.* 210 ms.*more than the limit \(100 ms\)/,
      ),
    });
    expect(runner.stats()?.submitted).toBe(1);
    const small = enqueue(runner, rowsFrom(1, 40));
    await clock.advance(100);
    expectRowsFrom(small, 1, 40);
    expect(rowsOfCalls(model)).toHaveLength(11);
  });

  test('a request that is slightly too large for an idle backend gets no short retry time', async () => {
    const { runner } = await runningSteadily({ maxBatchSize: 4, targetLatencyMs: 100 });
    const { error } = enqueue(runner, rowsFrom(0, 48));
    expect(error).toMatchObject({ code: 'OVERLOADED', retryAfterMs: 1000 });
  });

  test('a request that cannot meet its own timeout on an idle backend is invalid', async () => {
    const { runner } = await runningSteadily({ maxBatchSize: 4, targetLatencyMs: 1000 });
    expect(enqueue(runner, rowsFrom(0, 84), { timeoutMs: 100 }).error).toMatchObject({
      code: 'INVALID_ITEM',
      message: expect.stringContaining('more than the limit (100 ms)'),
    });
  });

  test('the retry time of a rejected request covers all its parts', async () => {
    const { clock, runner } = await runningSteadily({ maxBatchSize: 4, targetLatencyMs: 100 });
    const before = enqueue(runner, rowsFrom(0, 24));
    const large = enqueue(runner, rowsFrom(50, 36));
    expect(large.error).toMatchObject({ code: 'OVERLOADED' });
    const { retryAfterMs } = large.error as BatchwiseError;
    expect(retryAfterMs).toBeGreaterThanOrEqual(50);
    await clock.advance(retryAfterMs as number);
    const again = enqueue(runner, rowsFrom(50, 36));
    await clock.advance(100);
    expectRowsFrom(before, 0, 24);
    expectRowsFrom(again, 50, 36);
  });

  test('when one part fails, the request fails with its error and the other parts do not run', async () => {
    const compute: FakeModelOptions['compute'] = (inputs, call) => {
      if (numbersOf(inputs.get('x')).includes(3)) throw new Error('no threes');
      return doubled(inputs, call);
    };
    const settings = settingsWith({ batching: { maxBatchSize: 2 } });
    const { clock, model, runner } = await running(settings, { compute, durationMs: () => 1 });
    const outcome = enqueue(runner, rowsFrom(1, 8));
    await clock.advance(10);
    expect(outcome).toMatchObject({ settled: 1, error: { code: 'HANDLER_FAILED' } });
    expect(rowsOfCalls(model)).toEqual([2, 2]);
  });

  test('cancelling a split request cancels all its parts', async () => {
    const { clock, model, runner } = await running(settingsWith({ batching: { maxBatchSize: 2 } }));
    model.held = [];
    const outcome = enqueue(runner, rowsFrom(1, 8));
    await clock.settle();
    outcome.ticket?.cancel('gone');
    expect(outcome).toMatchObject({ settled: 1, error: { code: 'CANCELLED' } });
    expect(runner.stats()?.queued).toBe(0);
    model.release();
    await clock.settle();
    expect(model.calls).toHaveLength(1);
  });

  test('the timeout of a request is limited by the timeout of the runner', async () => {
    const { clock, model, runner } = await running(settingsWith({ timeoutMs: 50 }));
    model.held = [];
    const outcome = enqueue(runner, rowsFrom(1), { timeoutMs: 60_000 });
    await clock.advance(49);
    expect(outcome.settled).toBe(0);
    await clock.advance(1);
    expect(outcome.error?.code).toBe('DEADLINE_EXCEEDED');
  });

  test('a batch that hangs is aborted after the timeout, and the signal of the model fires', async () => {
    const { clock, model, runner } = await running(settingsWith({ timeoutMs: 50 }));
    model.held = [];
    const hung = enqueue(runner, rowsFrom(1));
    await clock.advance(20);
    const later = enqueue(runner, rowsFrom(2));
    model.held = undefined;
    await clock.advance(29);
    expect(later.settled).toBe(0);
    await clock.advance(1);
    expect(hung.error).toMatchObject({ httpStatus: 504 });
    expect(model.calls[0]?.call).toMatchObject({ timeoutMs: 50, signal: { aborted: true } });
    expectRowsFrom(later, 2);
  });
});

describe('without batching', () => {
  test.each([
    ['disabled', settingsWith({ batching: { enabled: false, maxBatchSize: 2 } })],
    ['not declared batchable', settingsWith({ batchable: false, batching: { maxBatchSize: 2 } })],
  ])('%s: every request is a batch of its own, of any number of rows', async (_, settings) => {
    const { clock, model, runner } = await running(settings);
    const outcomes = [
      enqueue(runner, rowsFrom(1, 5)),
      enqueue(runner, rowsFrom(10)),
      enqueue(runner, rowsFrom(20, 3)),
    ];
    await clock.settle();
    expect(rowsOfCalls(model)).toEqual([5, 1, 3]);
    expectRowsFrom(outcomes[0] as RunnerOutcome<Tensors>, 1, 5);
    expectRowsFrom(outcomes[2] as RunnerOutcome<Tensors>, 20, 3);
  });

  test('a model with a fixed batch dimension takes exactly that number of rows', async () => {
    const signature: Signature = {
      inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 2] }],
      outputs: DOUBLING.outputs,
    };
    const { clock, model, runner } = await running(settingsWith({ warmup: 2 }), { signature });
    expect(rowsOfCalls(model)).toEqual([1, 1]);
    const outcomes = [
      enqueue(runner, rowsFrom(1)),
      enqueue(runner, rowsFrom(2)),
      enqueue(runner, rowsFrom(3, 2)),
    ];
    await clock.settle();
    expect(rowsOfCalls(model)).toEqual([1, 1, 1, 1]);
    expectRowsFrom(outcomes[1] as RunnerOutcome<Tensors>, 2);
    expect(outcomes[2]?.error?.code).toBe('INVALID_ITEM');
  });
});

describe('faults', () => {
  test('a poison request fails alone', async () => {
    const compute: FakeModelOptions['compute'] = (inputs, call) => {
      if (numbersOf(inputs.get('x')).includes(13)) throw new Error('no thirteens');
      return doubled(inputs, call);
    };
    const { clock, runner } = await running(settingsWith(), { compute });
    const outcomes = Array.from({ length: 20 }, (_, i) => enqueue(runner, rowsFrom(i)));
    await clock.settle();
    for (const [i, outcome] of outcomes.entries()) {
      if (i === 13)
        expect(outcome.error).toMatchObject({ code: 'HANDLER_FAILED', cause: new Error('no thirteens') });
      else expectRowsFrom(outcome, i);
    }
  });

  describe('a row that fails alone', () => {
    const compute: FakeModelOptions['compute'] = (inputs, call) => {
      const numbers = numbersOf(inputs.get('x'));
      for (let row = 0; row < numbers.length / 2; row++) {
        if (numbers[2 * row] === 13) call.onRowError?.(row, new Error('no thirteens'));
        if (numbers[2 * row] === 2) call.onRowError?.(row, new BatchwiseError('INVALID_ITEM', 'no twos'));
      }
      return doubled(inputs, call);
    };

    test('has the code of an exception that fails a batch', async () => {
      // It had INTERNAL, as if the server had failed.
      const { clock, runner } = await running(settingsWith(), { compute });
      const outcomes = [1, 13].map((n) => enqueue(runner, rowsFrom(n)));
      await clock.settle();
      expectRowsFrom(outcomes[0] as RunnerOutcome<Tensors>, 1);
      expect(outcomes[1]?.error).toMatchObject({
        code: 'HANDLER_FAILED',
        message: expect.stringMatching(/: no thirteens$/),
        cause: new Error('no thirteens'),
      });
    });

    test('is named in a request of several rows, also of one that is split', async () => {
      // A request of 100 rows was told that one of them is invalid, and not which.
      const settings = settingsWith({ batching: { maxBatchSize: 4 } });
      const { clock, runner } = await running(settings, { compute });
      const outcomes = [rowsFrom(1, 3), rowsFrom(-2, 6), rowsFrom(2)].map((rows) => enqueue(runner, rows));
      await clock.settle();
      expect(outcomes.map(({ error }) => [error?.code, error?.message])).toEqual([
        ['INVALID_ITEM', 'row 1: no twos'],
        ['INVALID_ITEM', 'row 4: no twos'],
        ['INVALID_ITEM', 'no twos'],
      ]);
    });
  });

  test('an unavailable model fails its batch without bisecting', async () => {
    const compute = () => {
      throw new BatchwiseError('UNAVAILABLE', 'the thread died');
    };
    const { clock, model, runner } = await running(settingsWith(), { compute });
    const outcomes = [enqueue(runner, rowsFrom(1)), enqueue(runner, rowsFrom(2))];
    await clock.settle();
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ settled: 1, error: { code: 'UNAVAILABLE' } });
    expect(model.calls).toHaveLength(1);
  });

  test('INVALID_ITEM of the model fails only its request', async () => {
    const compute: FakeModelOptions['compute'] = (inputs, call) => {
      if (numbersOf(inputs.get('x')).includes(2)) throw new BatchwiseError('INVALID_ITEM', 'no twos');
      return doubled(inputs, call);
    };
    const { clock, runner } = await running(settingsWith(), { compute });
    const outcomes = [1, 2, 3].map((n) => enqueue(runner, rowsFrom(n)));
    await clock.settle();
    expectRowsFrom(outcomes[0] as RunnerOutcome<Tensors>, 1);
    expect(outcomes[1]?.error).toMatchObject({ code: 'INVALID_ITEM', message: 'no twos' });
    expectRowsFrom(outcomes[2] as RunnerOutcome<Tensors>, 3);
  });

  test.each([
    [
      'too few rows',
      () =>
        new Map([
          ['double', floats([1, 2], [1, 2])],
          ['sum', floats([2], [1, 2])],
        ]),
      /output "double": expected 2 rows along dimension 0.*got shape \[1,2\]/,
    ],
    [
      'no rows at all',
      () =>
        new Map([
          ['double', floats([2, 2], [1, 2, 3, 4])],
          ['sum', floats([], [1])],
        ]),
      /output "sum": expected 2 rows.*got shape \[\]/,
    ],
    [
      'a missing output',
      () => new Map([['double', floats([2, 2], [1, 2, 3, 4])]]),
      /returned no output "sum"/,
    ],
  ] as [string, () => Tensors, RegExp][])(
    'a result with %s is a BAD_RESULT that names the output',
    async (_, compute, message) => {
      const { clock, model, runner } = await running(settingsWith(), { compute });
      const outcomes = [enqueue(runner, rowsFrom(1)), enqueue(runner, rowsFrom(2))];
      await clock.settle();
      for (const { error } of outcomes) {
        expect(error).toMatchObject({ code: 'BAD_RESULT', message: expect.stringMatching(message) });
      }
      expect(model.calls).toHaveLength(1);
    },
  );

  test('parts of a result that cannot be concatenated are a BAD_RESULT', async () => {
    let width = 1;
    const compute = (inputs: Tensors): Tensors => {
      const rows = inputs.get('x')?.shape[0] as number;
      width += 1;
      return new Map([
        ['double', floats([rows, width], new Array(rows * width).fill(0))],
        ['sum', floats([rows], new Array(rows).fill(0))],
      ]);
    };
    const { clock, runner } = await running(settingsWith({ batching: { maxBatchSize: 2 } }), { compute });
    const outcome = enqueue(runner, rowsFrom(1, 4));
    await clock.settle();
    expect(outcome).toMatchObject({ settled: 1, error: { code: 'BAD_RESULT' } });
  });

  test('an invalid request is rejected with the reason and does not affect others', async () => {
    const { clock, runner } = await running();
    const wrong = enqueue(runner, { inputs: new Map([['x', floats([1, 3], [1, 2, 3])]]) });
    const right = enqueue(runner, rowsFrom(1));
    expect(wrong).toMatchObject({ settled: 1, error: { code: 'INVALID_ITEM' } });
    await clock.settle();
    expectRowsFrom(right, 1);
  });
});

describe('lifecycle', () => {
  test('it is loading before it is ready', async () => {
    const clock = new VirtualClock();
    const model = new FakeModel({ signature: DOUBLING, compute: doubled });
    const runner = createModelRunner({ name: 'doubling', model, settings: settingsWith(), clock });
    expect(runner.state).toBe('loading');
    const states: string[] = [];
    runner.onStateChange(() => states.push(runner.state));
    expect(runner.stats()).toBeUndefined();
    expect(enqueue(runner, rowsFrom(1)).error).toMatchObject({ code: 'UNAVAILABLE', message: /loading/ });
    await runner.ready;
    expect(runner).toMatchObject({ state: 'ready', kind: 'model', platform: 'fake', signature: DOUBLING });
    await runner.close();
    expect(states).toEqual(['ready', 'closed']);
  });

  test('a model that cannot be loaded rejects each request with the reason, and is closed', async () => {
    const model = new FakeModel({ signature: DOUBLING, compute: doubled });
    model.load = () => Promise.reject(new Error('no such file'));
    const runner = createModelRunner({ name: 'doubling', model, settings: settingsWith() });
    await expect(runner.ready).rejects.toThrow('no such file');
    expect(runner.state).toBe('failed');
    expect(model.isClosed).toBe(true);
    expect(enqueue(runner, rowsFrom(1)).error).toMatchObject({
      code: 'UNAVAILABLE',
      message: /no such file/,
    });
    await runner.close();
  });

  test('close() finishes admitted requests, then closes the model', async () => {
    const { clock, model, runner } = await running(settingsWith(), { durationMs: () => 10 });
    const accepted = enqueue(runner, rowsFrom(1));
    const closed = runner.close();
    expect(runner.close()).toBe(closed);
    const late = enqueue(runner, rowsFrom(2));
    expect(late.error?.code).toBe('CLOSED');
    await clock.advance(5);
    expect(model.isClosed).toBe(false);
    await clock.advance(5);
    await closed;
    expectRowsFrom(accepted, 1);
    expect(model.isClosed).toBe(true);
  });

  test('close() during warm-up ends the warm-up, and no request is admitted', async () => {
    const model = new FakeModel({ signature: DOUBLING, compute: doubled });
    model.held = [];
    const runner = createModelRunner({ name: 'doubling', model, settings: settingsWith({ warmup: 1 }) });
    await new Promise(setImmediate);
    expect(model.calls).toHaveLength(1);
    await runner.close();
    model.release();
    await expect(runner.ready).rejects.toMatchObject({ code: 'CLOSED' });
    expect(runner.state).toBe('closed');
    expect(enqueue(runner, rowsFrom(1)).error?.code).toBe('CLOSED');
  });

  test.each([
    ['smaller batches', settingsWith({ batching: { maxBatchSize: 2 } }), 2],
    ['no batches', settingsWith({ batching: { enabled: false } }), 5],
  ])('no request is dropped when settings change under load: %s', async (_, after, maxRows) => {
    const { clock, model, runner } = await running(settingsWith({ batching: { maxBatchSize: 10 } }), {
      durationMs: () => 1,
    });
    model.held = [];
    const first = enqueue(runner, rowsFrom(0));
    await clock.settle();
    const waiting = [1, 20, 40, 60].map((n, i) => ({
      n,
      count: 2 + i,
      outcome: enqueue(runner, rowsFrom(n, 2 + i)),
    }));
    const gone = enqueue(runner, rowsFrom(80, 4));
    runner.configure(after);
    gone.ticket?.cancel();
    model.release();
    model.held = undefined;
    await clock.advance(100);
    expectRowsFrom(first, 0);
    for (const { n, count, outcome } of waiting) expectRowsFrom(outcome, n, count);
    expect(gone).toMatchObject({ settled: 1, error: { code: 'CANCELLED' } });
    for (const rows of rowsOfCalls(model)) expect(rows).toBeLessThanOrEqual(maxRows);
  });

  test('settings that cannot change at run time are kept', async () => {
    const { clock, model, runner } = await running(settingsWith({ batching: { maxBatchSize: 3 } }));
    runner.configure(settingsWith({ batchDim: [1, 1], batchable: false, batching: { maxBatchSize: 2 } }));
    const outcome = enqueue(runner, rowsFrom(1, 5));
    await clock.settle();
    expect(rowsOfCalls(model)).toEqual([2, 2, 1]);
    expectRowsFrom(outcome, 1, 5);
  });

  test('invalid settings change nothing', async () => {
    const { clock, model, runner } = await running(settingsWith({ batching: { maxBatchSize: 3 } }));
    expect(() => runner.configure(settingsWith({ batching: { maxBatchSize: 0 } }))).toThrow(/maxBatchSize/);
    const outcome = enqueue(runner, rowsFrom(1, 4));
    await clock.settle();
    expect(rowsOfCalls(model)).toEqual([3, 1]);
    expectRowsFrom(outcome, 1, 4);
  });

  test('enabling batching answers all queued requests', async () => {
    const { clock, model, runner } = await running(settingsWith({ batching: { enabled: false } }), {
      durationMs: () => 1,
    });
    const outcomes = [1, 2, 3].map((n) => ({ n, outcome: enqueue(runner, rowsFrom(n)) }));
    runner.configure(settingsWith());
    await clock.advance(10);
    for (const { n, outcome } of outcomes) expectRowsFrom(outcome, n);
    for (const n of [4, 5]) enqueue(runner, rowsFrom(n));
    await clock.advance(10);
    expect(rowsOfCalls(model).at(-1)).toBe(2);
  });
});

describe('policies', () => {
  const lastReason = (runner: ModelRunner) =>
    Object.entries(runner.stats()?.reasons ?? {}).find(([, count]) => count > 0)?.[0];

  test('window holds a request for its wait time', async () => {
    const { clock, model, runner } = await running(
      settingsWith({ batching: { policy: 'window', maxWaitMs: 20 } }),
    );
    enqueue(runner, rowsFrom(1));
    await clock.advance(19);
    enqueue(runner, rowsFrom(2));
    expect(model.calls).toHaveLength(0);
    await clock.advance(1);
    expect(rowsOfCalls(model)).toEqual([2]);
    expect(lastReason(runner)).toBe('window');
  });

  test('greedy and adaptive dispatch a single request immediately', async () => {
    for (const policy of ['greedy', 'adaptive'] as const) {
      const { clock, model, runner } = await running(settingsWith({ batching: { policy } }));
      enqueue(runner, rowsFrom(1));
      await clock.settle();
      expect(model.calls).toHaveLength(1);
    }
  });
});
