/** Handlers that call their own batcher: the call is served if a slot can become free, and rejected otherwise. */

import { AsyncLocalStorage } from 'node:async_hooks';
import { Batcher, type BatcherOptions, VirtualClock } from 'batchwise';
import { describe, expect, test, vi } from 'vitest';
import { expectRest } from './support/books.js';
import { outcomeOf } from './support/outcome.js';

type Numbers = Batcher<number, number>;

function recursive(
  handler: (items: number[], own: Numbers) => Promise<number[]>,
  options: BatcherOptions<number> = {},
) {
  const clock = new VirtualClock();
  const batcher: Numbers = new Batcher((items: number[]) => handler(items, batcher), {
    clock,
    name: 'tree',
    ...options,
  });
  return { batcher, clock };
}

const below = (item: number, own: Numbers): number | Promise<number> =>
  item === 0 ? 0 : own.submit(item - 1);

describe('a handler that waits for itself gets DEADLOCK', () => {
  test.each<[string, (items: number[], own: Numbers) => Promise<number[]>]>([
    ['await', async ([item = 0], own) => [await below(item, own)]],
    ['Promise.all', (items, own) => Promise.all(items.map((item) => below(item, own)))],
    ['then', ([item = 0], own) => Promise.resolve(below(item, own)).then((result) => [result])],
    ['submitMany', ([item = 0], own) => own.submitMany(item === 0 ? [] : [item - 1])],
  ])('by %s', async (_, handler) => {
    const { batcher, clock } = recursive(handler);
    const outcome = outcomeOf(batcher.submit(1));
    await clock.advance(0);
    expect(outcome.error).toMatchObject({
      code: 'HANDLER_FAILED',
      cause: {
        code: 'DEADLOCK',
        retryable: false,
        message: expect.stringMatching(
          /^tree: the handler awaits a call of its own batcher, and the only slot is taken/,
        ),
      },
    });
    expectRest(batcher);
    await batcher.close();
  });

  test('when the last of several slots would wait for the others', async () => {
    const depths: number[] = [];
    const { batcher, clock } = recursive(
      async ([item = 0], own) => {
        depths.push(item);
        return [await below(item, own)];
      },
      { concurrency: 3, maxBatchSize: 1 },
    );
    const [deep, flat] = [outcomeOf(batcher.submit(5)), outcomeOf(batcher.submit(0))];
    await clock.advance(0);
    expect(deep.error).toMatchObject({ message: expect.stringContaining('all 3 slots are taken') });
    expect(flat.value).toBe(0);
    expect(depths).toEqual([5, 0, 4, 3]);
    expectRest(batcher);
  });

  test('and can continue without the result', async () => {
    const { batcher, clock } = recursive(async ([item = 0], own) => [
      await Promise.resolve(below(item, own)).catch((error) => (error.code === 'DEADLOCK' ? -1 : -2)),
    ]);
    const outcome = outcomeOf(batcher.submit(7));
    await clock.advance(0);
    expect(outcome.value).toBe(-1);
    expectRest(batcher);
  });
});

describe('a nested call that can be served is not rejected', () => {
  test('if another slot becomes free later', async () => {
    const clock = new VirtualClock();
    const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimer(resolve, ms));
    const batcher: Numbers = new Batcher(
      async ([item = 0]: number[]) => {
        if (item === 100) await sleep(50);
        return [item === 1 ? await batcher.submit(0) : item];
      },
      { clock, concurrency: 2, maxBatchSize: 1 },
    );
    const outcomes = [outcomeOf(batcher.submit(100)), outcomeOf(batcher.submit(1))];
    await clock.advance(50);
    expect(outcomes.map(({ value }) => value)).toEqual([100, 0]);
  });

  test('if the handler does not await the result', async () => {
    const clock = new VirtualClock();
    const sleep = (ms: number) => new Promise<void>((resolve) => clock.setTimer(resolve, ms));
    const seen: number[] = [];
    const batcher: Numbers = new Batcher(
      async ([item = 0]: number[]) => {
        seen.push(item);
        if (item > 0) batcher.submit(item - 1).catch(() => {});
        await sleep(20);
        return [item];
      },
      { clock, maxBatchSize: 1 },
    );
    const outcome = outcomeOf(batcher.submit(2));
    await clock.advance(100);
    expect(outcome.value).toBe(2);
    expect(seen).toEqual([2, 1, 0]);
    expectRest(batcher);
  });

  test('if the handler ends within the turn', async () => {
    const inner: ReturnType<typeof outcomeOf>[] = [];
    const { batcher, clock } = recursive(async (items, own) => {
      for (const item of items) if (item > 0) inner.push(outcomeOf(own.submit(item - 1)));
      return items;
    });
    const outer = outcomeOf(batcher.submit(2));
    await clock.advance(0);
    expect([outer, ...inner].map(({ value }) => value)).toEqual([2, 1, 0]);
  });

  test('if a caller submits in reaction to context.answer()', async () => {
    const clock = new VirtualClock();
    const later: ReturnType<typeof outcomeOf>[] = [];
    const batcher: Numbers = new Batcher(
      async (items: number[], context) => {
        for (const [index, item] of items.entries()) context.answer(index, item);
        await new Promise<void>((resolve) => clock.setTimer(resolve, 10));
        return context.answered;
      },
      { clock },
    );
    batcher.enqueue(1, { resolve: () => later.push(outcomeOf(batcher.submit(2))), reject: () => {} });
    await clock.advance(20);
    expect(later.map(({ value }) => value)).toEqual([2]);
  });

  test('if the handler calls another batcher', async () => {
    const clock = new VirtualClock();
    const inner = new Batcher((items: number[]) => items.map((item) => 2 * item), { clock });
    const outer = new Batcher((items: number[]) => Promise.all(items.map((item) => inner.submit(item))), {
      clock,
    });
    const outcome = outcomeOf(outer.submit(21));
    await clock.advance(0);
    expect(outcome.value).toBe(42);
  });
});

test('DEADLOCK after an await', async () => {
  const { batcher, clock } = recursive(async ([item = 0], own) => {
    await Promise.resolve();
    return [await below(item, own)];
  });
  const outcome = outcomeOf(batcher.submit(1));
  await clock.advance(0);
  expect(outcome.error).toMatchObject({ code: 'HANDLER_FAILED', cause: { code: 'DEADLOCK' } });
});

// Async contexts slow down every promise before Node 24: they are on only while a batch is watched.
describe.runIf(Number.parseInt(process.versions.node, 10) < 24)('async contexts are switched off', () => {
  const never = () => new Promise<number[]>(() => {});
  test.each<[string, (items: number[]) => number[] | Promise<number[]>]>([
    ['returns', (items) => items],
    ['resolves', async (items) => items],
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
    ['never answers', never],
  ])('when the handler %s', async (_, handler) => {
    const disable = vi.spyOn(AsyncLocalStorage.prototype, 'disable');
    vi.resetModules(); // other tests leave handlers that never end
    const fresh = await import('batchwise');
    const clock = new fresh.VirtualClock();
    const batcher = new fresh.Batcher(handler, { clock, handlerTimeoutMs: 10 });
    const outcome = outcomeOf(batcher.submit(1));
    await clock.advance(10);
    expect(outcome.settled).toBe(1);
    expect(disable).toHaveBeenCalledTimes(1);
    disable.mockRestore();
  });

  test('after the first batches, and for a batcher with unlimited slots', async () => {
    const run = vi.spyOn(AsyncLocalStorage.prototype, 'run');
    const clock = new VirtualClock();
    const limited = new Batcher(async (items: number[]) => items, { clock });
    const unlimited = new Batcher(async (items: number[]) => items, {
      clock,
      concurrency: Number.POSITIVE_INFINITY,
    });
    for (let i = 0; i < 100; i++) {
      limited.submit(i);
      unlimited.submit(i);
      await clock.advance(1);
    }
    expect(limited.stats().batches).toBe(100);
    expect(run).toHaveBeenCalledTimes(32);
    run.mockRestore();
  });
});
