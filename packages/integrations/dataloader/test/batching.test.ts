/** Which loads share a call of the batch function. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { DataLoader } from '@batchwise/dataloader';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endOfTurn, recordedLoader } from './recorded-loader.js';

describe('loads of one tick', () => {
  test('share a batch, each with its own value', async () => {
    const { loader, calls } = recordedLoader<string>();
    expect(await Promise.all([loader.load('a'), loader.load('b')])).toEqual(['a', 'b']);
    expect(calls).toEqual([['a', 'b']]);
  });

  test('share it when they are made in chained promises', async () => {
    const { loader, calls } = recordedLoader<number>();
    async function loadAfter(hops: number): Promise<number> {
      for (let i = 0; i < hops; i++) await Promise.resolve();
      return loader.load(hops);
    }
    await Promise.all([0, 1, 2, 5, 10, 50].map(loadAfter));
    expect(calls).toEqual([[0, 1, 2, 5, 10, 50]]);
  });

  // Root cause: where the tick begins with a task, Node runs process.nextTick before the promise jobs.
  test('share it when the first load is made in a task', async () => {
    const { loader, calls } = recordedLoader<number>();
    const values = await new Promise((resolve) => {
      setImmediate(() => {
        resolve(Promise.all([loader.load(1), Promise.resolve().then(() => loader.load(2))]));
      });
    });
    expect(values).toEqual([1, 2]);
    expect(calls).toEqual([[1, 2]]);
  });

  test('share it when batch functions of other loaders make them', async () => {
    const { loader: users, calls } = recordedLoader<string>();
    const throughUsers = () =>
      new DataLoader((keys: readonly string[]) =>
        Promise.all(keys.map((key) => users.load(`user of ${key}`))),
      );
    const [posts, comments] = [throughUsers(), throughUsers()];
    await Promise.all([posts.load('post 1'), posts.load('post 2'), comments.load('comment 1')]);
    expect(calls).toEqual([['user of post 1', 'user of post 2', 'user of comment 1']]);
  });

  test('are dispatched before the next input', async () => {
    const { loader, calls } = recordedLoader<number>();
    const value = loader.load(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(calls).toEqual([[1]]);
    expect(await value).toBe(1);
  });
});

describe('limits', () => {
  test('maxBatchSize splits the keys of a tick, in order', async () => {
    const { loader, calls } = recordedLoader<number>({ maxBatchSize: 2 });
    expect(await loader.loadMany([1, 2, 3, 4, 5])).toEqual([1, 2, 3, 4, 5]);
    expect(calls).toEqual([[1, 2], [3, 4], [5]]);
  });

  test('a full batch waits for its turn like any other', async () => {
    const order: string[] = [];
    const loader = new DataLoader(
      async (keys: readonly number[]) => {
        order.push(`batch ${keys}`);
        return keys;
      },
      { maxBatchSize: 2 },
    );
    const loads = Promise.all([loader.load(1), loader.load(2), loader.load(3)]);
    for (let i = 0; i < 5; i++) await Promise.resolve();
    order.push('promise jobs');
    await loads;
    expect(order).toEqual(['promise jobs', 'batch 1,2', 'batch 3']);
  });

  test('loads found in the cache do not count towards maxBatchSize', async () => {
    const { loader, calls } = recordedLoader<number>({ maxBatchSize: 3 });
    await loader.loadMany([1, 2, 1, 1, 2, 3]);
    expect(calls).toEqual([[1, 2, 3]]);
  });

  test('batch: false is one key per call', async () => {
    const { loader, calls } = recordedLoader<number>({ batch: false });
    await loader.loadMany([1, 2]);
    expect(calls).toEqual([[1], [2]]);
  });
});

describe('batchScheduleFn', () => {
  test('decides when, and the batch function is called before its callback returns', () => {
    const callbacks: (() => void)[] = [];
    const { loader, calls } = recordedLoader<string>({
      batchScheduleFn: (callback) => callbacks.push(callback),
    });
    void loader.loadMany(['a', 'b']);
    expect(calls).toEqual([]);
    callbacks.shift()?.();
    expect(calls).toEqual([['a', 'b']]);
    void loader.loadMany(['b', 'c']);
    callbacks.shift()?.();
    expect(calls).toEqual([['a', 'b'], ['c']]);
    expect(callbacks).toEqual([]);
  });

  test('is called for each batch, and each callback dispatches its own', () => {
    const callbacks: (() => void)[] = [];
    const { loader, calls } = recordedLoader<number>({
      maxBatchSize: 2,
      batchScheduleFn: (callback) => callbacks.push(callback),
    });
    void loader.loadMany([1, 2, 3]);
    expect(callbacks).toHaveLength(2);
    callbacks[0]?.();
    expect(calls).toEqual([[1, 2]]);
    void loader.load(4);
    callbacks[1]?.();
    expect(calls).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  test('may call back twice, or at once', async () => {
    const twice = recordedLoader<number>({
      batchScheduleFn: (callback) => {
        queueMicrotask(callback);
        queueMicrotask(callback);
      },
    });
    expect(await twice.loader.loadMany([1, 2])).toEqual([1, 2]);
    expect(twice.calls).toEqual([[1, 2]]);
    expect(await twice.loader.loadMany([1, 3])).toEqual([1, 3]);
    const atOnce = recordedLoader<number>({ batchScheduleFn: (callback) => callback() });
    expect(await atOnce.loader.loadMany([1, 2, 1])).toEqual([1, 2, 1]);
    expect(atOnce.calls).toEqual([[1], [2]]);
  });
});

describe('what the functions of the caller see', () => {
  test('the loader as this', async () => {
    const seen: unknown[] = [];
    const loader: DataLoader<number, number> = new DataLoader(
      async function (this: unknown, keys: readonly number[]) {
        seen.push(this);
        return keys;
      },
      {
        cacheKeyFn(key) {
          seen.push(this);
          return key;
        },
        batchScheduleFn(callback) {
          seen.push(this);
          queueMicrotask(callback);
        },
      },
    );
    await loader.load(1);
    expect(seen).toEqual([loader, loader, loader]);
  });

  // Root cause: the batcher calls handlers outside all async contexts. A loader belongs to one request.
  test('the async context of the first load of the batch', async () => {
    const request = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    const loader = new DataLoader(async (keys: readonly number[]) => {
      seen.push(request.getStore());
      await endOfTurn();
      seen.push(request.getStore());
      return keys;
    });
    await Promise.all([
      request.run('request 1', () => loader.load(1)),
      request.run('request 2', () => loader.load(2)),
    ]);
    expect(seen).toEqual(['request 1', 'request 1']);
  });

  test('keys of any kind, by identity', async () => {
    const { loader, calls } = recordedLoader<object>();
    const [a, b] = [{}, {}];
    expect(await Promise.all([loader.load(a), loader.load(b), loader.load(a)])).toEqual([a, b, a]);
    expect(calls).toEqual([[a, b]]);
    expect(calls[0]?.[0]).toBe(a);
  });

  test('falsy keys', async () => {
    const { loader, calls } = recordedLoader<unknown>();
    expect(await loader.loadMany([0, '', false, Number.NaN])).toEqual([0, '', false, Number.NaN]);
    expect(calls).toHaveLength(1);
  });

  test('the loads of its own batch function are served', async () => {
    const loader: DataLoader<number, number> = new DataLoader((keys: readonly number[]) =>
      Promise.all(keys.map(async (key) => (key === 0 ? 0 : 1 + (await loader.load(key - 1))))),
    );
    expect(await loader.load(4)).toBe(4);
  });
});

test('every load gets the value of its key, each key is loaded once, and no batch is too large', async () => {
  const tick = fc.array(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 8 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(tick, { maxLength: 4 }),
      fc.integer({ min: 1, max: 5 }),
      async (ticks, limit) => {
        const { loader, calls } = recordedLoader<number>({ maxBatchSize: limit });
        for (const hops of ticks) {
          const loads: Promise<(number | Error)[]>[] = [];
          for (const keys of hops) {
            loads.push(loader.loadMany(keys));
            await Promise.resolve();
          }
          expect(await Promise.all(loads)).toEqual(hops);
        }
        const loaded = calls.flat();
        expect(new Set(loaded).size).toBe(loaded.length);
        expect([...loaded].sort()).toEqual([...new Set(ticks.flat(2))].sort());
        expect(calls.every((keys) => keys.length >= 1 && keys.length <= limit)).toBe(true);
      },
    ),
    { numRuns: 100 },
  );
});
