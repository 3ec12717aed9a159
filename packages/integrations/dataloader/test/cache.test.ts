/** What is cached, and when loads that are found in the cache are answered. */
import { type CacheMap, DataLoader } from '@batchwise/dataloader';
import { describe, expect, test } from 'vitest';
import { endOfTurn, gatedLoader, recordedLoader } from './recorded-loader.js';

describe('a key that was loaded', () => {
  test('is not loaded again', async () => {
    const { loader, calls } = recordedLoader<string>();
    await loader.loadMany(['a', 'b']);
    expect(await loader.loadMany(['a', 'c', 'b'])).toEqual(['a', 'c', 'b']);
    expect(calls).toEqual([['a', 'b'], ['c']]);
  });

  test('is loaded again after clear or clearAll, which can be chained', async () => {
    const { loader, calls } = recordedLoader<string>();
    await loader.loadMany(['a', 'b']);
    expect(loader.clear('a').clear('not there')).toBe(loader);
    await loader.loadMany(['a', 'b']);
    expect(loader.clearAll()).toBe(loader);
    await loader.loadMany(['a', 'b']);
    expect(calls).toEqual([['a', 'b'], ['a'], ['a', 'b']]);
  });

  test('is loaded again in the same tick when it is cleared in between', async () => {
    const { loader, calls } = recordedLoader<string>();
    const first = loader.load('a');
    loader.clear('a');
    expect(await Promise.all([first, loader.load('a')])).toEqual(['a', 'a']);
    expect(calls).toEqual([['a', 'a']]);
  });

  test('is shared within a batch that clears the cache when it starts', async () => {
    const calls: (readonly string[])[] = [];
    const loader: DataLoader<string, string> = new DataLoader(async (keys) => {
      loader.clearAll();
      calls.push(keys);
      return keys;
    });
    for (let i = 0; i < 2; i++) expect(await loader.loadMany(['a', 'b', 'a'])).toEqual(['a', 'b', 'a']);
    expect(calls).toEqual([
      ['a', 'b'],
      ['a', 'b'],
    ]);
  });
});

describe('a load that is found in the cache', () => {
  test('is answered together with the batch of its tick', async () => {
    const { loader, batches } = gatedLoader<number>();
    loader.prime(1, 1);
    const settled: number[] = [];
    for (const key of [1, 2]) void loader.load(key).then((value) => settled.push(value));
    await endOfTurn();
    expect(settled).toEqual([]);
    expect(batches.map(({ keys }) => keys)).toEqual([[2]]);
    batches[0]?.answer();
    await endOfTurn();
    expect(settled.sort()).toEqual([1, 2]);
  });

  test('is answered with that batch even if the schedule function calls back twice', async () => {
    const { loader, batches } = gatedLoader<number>({
      batchScheduleFn: (callback) => {
        setImmediate(callback);
        setImmediate(callback);
      },
    });
    loader.prime(1, 1);
    const settled: number[] = [];
    for (const key of [1, 2]) void loader.load(key).then((value) => settled.push(value));
    await endOfTurn();
    expect(batches).toHaveLength(1);
    expect(settled).toEqual([]);
    batches[0]?.answer();
    await endOfTurn();
    expect(settled.sort()).toEqual([1, 2]);
  });

  test('is answered even if that batch fails', async () => {
    const { loader, batches } = gatedLoader<number>();
    loader.prime(1, 1);
    const loads = loader.loadMany([1, 2]);
    await endOfTurn();
    batches[0]?.fail(new Error('down'));
    expect(await loads).toEqual([1, new Error('down')]);
  });

  test('waits for the tick only, where nothing else is loaded', async () => {
    const { loader, batches } = gatedLoader<number>();
    loader.prime(1, 1);
    expect(await loader.load(1)).toBe(1);
    expect(batches).toEqual([]);
  });

  test('waits for its key when the batch of that is still running', async () => {
    const { loader, batches } = gatedLoader<number>();
    const first = loader.load(1);
    await endOfTurn();
    const second = loader.load(1);
    batches[0]?.answer();
    expect(await Promise.all([first, second])).toEqual([1, 1]);
    expect(batches).toHaveLength(1);
  });
});

describe('prime', () => {
  test('adds a value or a promise of one', async () => {
    const { loader, calls } = recordedLoader<string>();
    expect(loader.prime('a', 'A').prime('b', Promise.resolve('B'))).toBe(loader);
    expect(await loader.loadMany(['a', 'b', 'c'])).toEqual(['A', 'B', 'c']);
    expect(calls).toEqual([['c']]);
  });

  test('leaves a key alone that is there already', async () => {
    const { loader } = recordedLoader<string>();
    loader.prime('a', 'A').prime('a', 'other');
    await loader.load('b');
    loader.prime('b', 'other');
    expect(await loader.loadMany(['a', 'b'])).toEqual(['A', 'b']);
    loader.clear('a').prime('a', 'other');
    expect(await loader.load('a')).toBe('other');
  });

  test('with an error rejects the loads, and is not an unhandled rejection by itself', async () => {
    const { loader, calls } = recordedLoader<number>();
    loader.prime(1, new Error('primed'));
    await endOfTurn();
    await expect(loader.load(1)).rejects.toThrow('primed');
    expect(calls).toEqual([]);
  });
});

describe('cacheKeyFn', () => {
  const byId = ({ id }: { id: number }) => id;

  test('says which keys are the same', async () => {
    const { loader, calls } = recordedLoader<{ id: number }, number>({ cacheKeyFn: byId });
    const [first, same] = [{ id: 1 }, { id: 1 }];
    expect(await Promise.all([loader.load(first), loader.load(same)])).toEqual([first, first]);
    expect((await loader.load(same)) === first).toBe(true);
    expect(calls).toEqual([[first]]);
    loader.clear(same);
    await loader.load(first);
    expect(calls).toHaveLength(2);
    const primed = { id: 2 };
    loader.prime(primed, primed);
    expect(await loader.load({ id: 2 })).toBe(primed);
    expect(calls).toHaveLength(2);
  });

  test('is not asked without a cache', async () => {
    const cacheKeyFn = () => {
      throw new Error('asked');
    };
    const { loader } = recordedLoader<number, number>({ cache: false, cacheKeyFn });
    loader.prime(1, 1).clear(1).clearAll();
    expect(await loader.load(1)).toBe(1);
  });
});

describe('without a cache', () => {
  test.each([
    ['cache: false', { cache: false }],
    ['cacheMap: null', { cacheMap: null }],
  ])('by %s, a key is passed as often as it is loaded', async (_, options) => {
    const { loader, calls } = recordedLoader<string>(options);
    expect(await loader.loadMany(['a', 'b', 'a'])).toEqual(['a', 'b', 'a']);
    await loader.load('a');
    expect(calls).toEqual([['a', 'b', 'a'], ['a']]);
  });

  test('a cacheMap that was given is left alone', async () => {
    const cacheMap = new Map([['x', Promise.resolve('x')]]);
    const { loader } = recordedLoader<string>({ cache: false, cacheMap });
    loader.prime('a', 'a').clear('x').clearAll();
    await loader.load('b');
    expect([...cacheMap.keys()]).toEqual(['x']);
  });
});

test('cacheMap can be an object with the methods of a Map', async () => {
  const stored = new Map<string, Promise<string>>();
  const asked: string[] = [];
  const cacheMap: CacheMap<string, Promise<string>> = {
    get: (key) => {
      asked.push(`get ${key}`);
      return stored.get(key);
    },
    set: (key, value) => stored.set(key, value),
    delete: (key) => asked.push(`delete ${key}`) && stored.delete(key),
    clear: () => stored.clear(),
  };
  const { loader, calls } = recordedLoader<string>({ cacheMap });
  const loads = loader.load('a');
  expect(stored.get('a')).toBe(loads);
  await loads;
  await loader.load('a');
  expect(calls).toEqual([['a']]);
  loader.clear('a');
  expect(asked).toEqual(['get a', 'get a', 'delete a']);
  await loader.load('b');
  loader.clearAll();
  expect(stored.size).toBe(0);
});
