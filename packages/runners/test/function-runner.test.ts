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

test('items that come together are one call, and each gets its own answer', async () => {
  const { clock, runner, batches } = running();
  const outcomes = [1, -1, 3].map((item) => enqueue(runner, item));
  await clock.advance(4);
  expect(batches).toEqual([[1, -1, 3]]);
  expect(outcomes.map(({ result }) => result)).toEqual([10, undefined, 30]);
  expect(outcomes[1]?.error?.code).toBe('INVALID_ITEM');
  expect(outcomes[2]?.trace).toEqual({ batchSize: 3, queueMs: 0, computeMs: 4 });
});

test('what is not batchable is called with one item at a time', async () => {
  const { clock, runner, batches } = running({
    settings: settingsWith({ batchable: false }),
    costOf: () => 5,
  });
  for (const item of [1, 2]) enqueue(runner, item);
  await clock.advance(8);
  expect(batches).toEqual([[1], [2]]);
});

test('cost and group keep items apart', async () => {
  const settings = settingsWith({ batching: { maxBatchSize: 10 } });
  const { clock, runner, batches } = running({ settings, costOf: (n) => n, groupOf: (n) => n % 2 });
  for (const item of [2, 4, 6, 1, 3]) enqueue(runner, item);
  await clock.advance(40);
  expect(batches.map((batch) => [...batch].sort())).toEqual([[2, 4], [6], [1, 3]]);
});

describe('a life', () => {
  test('it is ready when it is made, and closes when all is answered', async () => {
    const { clock, runner } = running();
    await runner.ready;
    expect(runner).toMatchObject({
      state: 'ready',
      kind: 'function',
      platform: 'function',
      signature: undefined,
    });
    const outcome = enqueue(runner, 1);
    const closed = runner.close();
    await clock.advance(4);
    await closed;
    expect(runner.state).toBe('closed');
    expect(outcome.result).toBe(10);
    expect(enqueue(runner, 2).error?.code).toBe('CLOSED');
  });

  test('its limits change while it runs', async () => {
    const { clock, runner, batches } = running();
    runner.configure(settingsWith({ batching: { maxBatchSize: 2 } }));
    for (const item of [1, 2, 3]) enqueue(runner, item);
    await clock.advance(8);
    expect(batches).toEqual([[1, 2], [3]]);
    expect(runner.stats()?.succeeded).toBe(3);
  });

  test('the time-out of the runner is the longest anybody may take', async () => {
    const { clock, runner } = running({ settings: settingsWith({ timeoutMs: 2 }) });
    const outcome = enqueue(runner, 1, { timeoutMs: 100 });
    await clock.advance(2);
    expect(outcome.error?.code).toBe('DEADLINE_EXCEEDED');
  });
});
