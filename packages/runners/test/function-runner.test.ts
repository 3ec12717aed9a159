import { BatchwiseError, VirtualClock } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { createFunctionRunner, type FunctionRunnerOptions } from '../src/index.js';
import { enqueue } from './support/runner-outcome.js';
import { settingsWith } from './support/settings.js';

function running(options: Partial<FunctionRunnerOptions<number, number>> = {}) {
  const clock = new VirtualClock();
  const batches: number[][] = [];
  const runner = createFunctionRunner<number, number>({
    name: 'tenfold',
    handler: async (items) => {
      batches.push(items);
      await new Promise<void>((resolve) => clock.setTimer(resolve, 4));
      return items.map((item) => (item < 0 ? new BatchwiseError('INVALID_ITEM', 'negative') : 10 * item));
    },
    settings: settingsWith(),
    clock,
    ...options,
  });
  return { clock, runner, batches };
}

test('items submitted together are one call, and each gets its own result', async () => {
  const { clock, runner, batches } = running();
  const outcomes = [1, -1, 3].map((item) => enqueue(runner, item));
  await clock.advance(4);
  expect(batches).toEqual([[1, -1, 3]]);
  expect(outcomes.map(({ result }) => result)).toEqual([10, undefined, 30]);
  expect(outcomes[1]?.error?.code).toBe('INVALID_ITEM');
  expect(outcomes[2]?.trace).toEqual({ batchSize: 3, queueMs: 0, computeMs: 4 });
});

test('a function that is not batchable is called with one item at a time', async () => {
  const { clock, runner, batches } = running({
    settings: settingsWith({ batchable: false }),
    costOf: () => 5,
  });
  for (const item of [1, 2]) enqueue(runner, item);
  await clock.advance(8);
  expect(batches).toEqual([[1], [2]]);
});

test('cost and group limit which items share a batch', async () => {
  const settings = settingsWith({ batching: { maxBatchSize: 10 } });
  const { clock, runner, batches } = running({ settings, costOf: (n) => n, groupOf: (n) => n % 2 });
  for (const item of [2, 4, 6, 1, 3]) enqueue(runner, item);
  await clock.advance(40);
  expect(batches.map((batch) => [...batch].sort())).toEqual([[2, 4], [6], [1, 3]]);
});

describe('costOf, groupOf and dedupeBy', () => {
  const broken = () => {
    throw new TypeError('item.text is undefined');
  };

  test.each(['costOf', 'groupOf', 'dedupeBy'])(
    '%s that throws fails its item with HANDLER_FAILED',
    async (option) => {
      const faults: Error[] = [];
      const { clock, runner } = running({
        [option]: (item: number) => (item === 2 ? broken() : 1),
        onFault: (error) => faults.push(error),
      });
      const outcomes = [1, 2, 3].map((item) => enqueue(runner, item));
      await clock.advance(100);
      expect(outcomes.map(({ settled }) => settled)).toEqual([1, 1, 1]);
      expect(outcomes[1]?.error).toMatchObject({
        code: 'HANDLER_FAILED',
        message: `tenfold: ${option}(item) threw: item.text is undefined`,
        cause: expect.any(TypeError),
      });
      expect(faults).toEqual([outcomes[1]?.error]);
      expect(outcomes[0]?.result).toBe(10);
      expect(runner.stats()).toMatchObject({ submitted: 3, failed: 1, refused: 0, succeeded: 2 });
    },
  );

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, '3', undefined])(
    'a cost of %s fails with HANDLER_FAILED',
    (cost) => {
      const { runner } = running({ costOf: () => cost as number });
      expect(enqueue(runner, 1).error).toMatchObject({
        code: 'HANDLER_FAILED',
        message: expect.stringContaining('costOf(item): expected a number above 0, got '),
      });
    },
  );

  test('may reject an item with INVALID_ITEM', () => {
    const invalid = new BatchwiseError('INVALID_ITEM', 'a text is needed');
    const { runner } = running({
      costOf: () => {
        throw invalid;
      },
    });
    expect(enqueue(runner, 1).error).toBe(invalid);
  });
});

describe('lifecycle', () => {
  test('it is ready when created, and closes after all results', async () => {
    const { clock, runner } = running();
    await runner.ready;
    expect(runner).toMatchObject({
      state: 'ready',
      kind: 'function',
      platform: 'function',
      signature: undefined,
    });
    const outcome = enqueue(runner, 1);
    const states: string[] = [];
    runner.onStateChange(() => states.push(runner.state));
    const closed = runner.close();
    expect(states).toEqual(['closed']);
    await clock.advance(4);
    await closed;
    expect(runner.state).toBe('closed');
    expect(outcome.result).toBe(10);
    expect(enqueue(runner, 2).error?.code).toBe('CLOSED');
  });

  test('its limits can change at run time', async () => {
    const { clock, runner, batches } = running();
    runner.configure(settingsWith({ batching: { maxBatchSize: 2 } }));
    for (const item of [1, 2, 3]) enqueue(runner, item);
    await clock.advance(8);
    expect(batches).toEqual([[1, 2], [3]]);
    expect(runner.stats()?.succeeded).toBe(3);
  });

  test('a handler that never settles releases its slot after the timeout', async () => {
    const silent = {
      // biome-ignore lint/suspicious/noThenProperty: a foreign promise that never settles
      then() {},
    };
    let isSilent = true;
    const { clock, runner } = running({
      settings: settingsWith({ timeoutMs: 10 }),
      handler: (items) => (isSilent ? (silent as unknown as Promise<number[]>) : items),
    });
    const outcome = enqueue(runner, 1);
    await clock.settle();
    expect(runner.stats()).toMatchObject({ running: 1, batchesRunning: 1 });
    await clock.advance(10);
    expect(outcome).toMatchObject({ settled: 1, error: { httpStatus: 504 } });
    isSilent = false;
    const next = enqueue(runner, 2);
    await clock.settle();
    expect(next.result).toBe(2);
    expect(runner.stats()).toMatchObject({ running: 0, batchesRunning: 0, queued: 0 });
  });

  test('the timeout of a call is limited by the timeout of the runner', async () => {
    const { clock, runner } = running({ settings: settingsWith({ timeoutMs: 2 }) });
    const outcome = enqueue(runner, 1, { timeoutMs: 100 });
    await clock.advance(2);
    expect(outcome.error?.code).toBe('DEADLINE_EXCEEDED');
  });
});
