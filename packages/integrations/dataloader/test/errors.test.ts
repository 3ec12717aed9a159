/** What fails, with which error, and what of it is cached. */
import { DataLoader, type DataLoaderOptions } from '@batchwise/dataloader';
import { describe, expect, test } from 'vitest';
import { recordedLoader } from './recorded-loader.js';

const REQUIRED =
  'DataLoader must be constructed with a function which accepts Array<key> and returns Promise<Array<value>>, but ';

/** For calls that the types forbid. */
function untyped(value: unknown): never {
  return value as never;
}

describe('an error for one key', () => {
  const oddLoader = () => {
    const calls: (readonly number[])[] = [];
    const loader = new DataLoader(async (keys: readonly number[]) => {
      calls.push(keys);
      return keys.map((key) => (key % 2 === 0 ? key : new Error(`odd: ${key}`)));
    });
    return { loader, calls };
  };

  test('rejects the loads of this key only', async () => {
    const { loader } = oddLoader();
    const [odd, even] = [loader.load(1), loader.load(2)];
    await expect(odd).rejects.toThrow('odd: 1');
    expect(await even).toBe(2);
  });

  test('is a result of loadMany', async () => {
    const { loader } = oddLoader();
    expect(await loader.loadMany([1, 2])).toEqual([new Error('odd: 1'), 2]);
    expect(await loader.loadMany([])).toEqual([]);
  });

  test('is cached until it is cleared', async () => {
    const { loader, calls } = oddLoader();
    const first = await loader.load(1).catch((error) => error);
    expect(await loader.load(1).catch((error) => error)).toBe(first);
    expect(calls).toEqual([[1]]);
    loader.clear(1);
    await expect(loader.load(1)).rejects.toThrow('odd: 1');
    expect(calls).toEqual([[1], [1]]);
  });
});

describe('a batch that fails', () => {
  test('rejects all its loads with the very error, and is not cached', async () => {
    let calls = 0;
    const down = new Error('down');
    const loader = new DataLoader((keys: readonly number[]) => {
      calls += 1;
      return calls === 1 ? Promise.reject(down) : Promise.resolve(keys);
    });
    const [first, second] = await loader.loadMany([1, 2]);
    expect(first).toBe(down);
    expect(second).toBe(down);
    expect(await loader.loadMany([1, 2])).toEqual([1, 2]);
  });

  test('leaves the loads of other batches alone', async () => {
    const loader = new DataLoader(
      async (keys: readonly number[]) => {
        if (keys.includes(2)) throw new Error('down');
        return keys;
      },
      { maxBatchSize: 2 },
    );
    expect(await loader.loadMany([1, 2, 3])).toEqual([new Error('down'), new Error('down'), 3]);
  });

  test('may fail with what is not an Error', async () => {
    const loader = new DataLoader<number, number>(() => Promise.reject('no error'));
    expect(await loader.load(1).catch((error) => error)).toBe('no error');
  });
});

describe('a batch function must return a promise of as many values', () => {
  test.each<[string, () => unknown, string]>([
    [
      'not throw',
      () => {
        throw new Error('at once');
      },
      'the function errored synchronously: Error: at once.',
    ],
    ['not return nothing', () => null, 'the function did not return a Promise: null.'],
    ['not return values', () => [1], 'the function did not return a Promise: 1.'],
    [
      'not promise nothing',
      async () => undefined,
      'the function did not return a Promise of an Array: undefined.',
    ],
    ['not promise a text', async () => 'text', 'the function did not return a Promise of an Array: text.'],
    [
      'not promise fewer values',
      async () => [],
      'the function did not return a Promise of an Array of the same length as the Array of keys.\n\nKeys:\n1\n\nValues:\n',
    ],
  ])('%s', async (_, batchLoadFn, message) => {
    const loader = new DataLoader<number, number>(untyped(batchLoadFn));
    const error = await loader.load(1).catch((rejected) => rejected);
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toBe(REQUIRED + message);
  });

  test('in any object with a length', async () => {
    const loader = new DataLoader<number, number>(async (keys) =>
      Object.assign({ length: keys.length }, keys),
    );
    expect(await loader.loadMany([1, 2])).toEqual([1, 2]);
    const typed = new DataLoader<number, number>(async (keys) => Float64Array.from(keys));
    expect(await typed.loadMany([1, 2])).toEqual([1, 2]);
  });

  test('where a value may be a promise', async () => {
    const loader = new DataLoader<number, number>(async (keys) =>
      untyped(keys.map((key) => (key === 1 ? Promise.resolve('one') : Promise.reject(new Error('two'))))),
    );
    expect(await loader.loadMany([1, 2])).toEqual(['one', new Error('two')]);
  });

  test('or a thenable of another library', async () => {
    const loader = new DataLoader<number, number>((keys) =>
      untyped({
        // biome-ignore lint/suspicious/noThenProperty: what other libraries return
        then: (resolve: (values: readonly number[]) => void) => resolve(keys),
      }),
    );
    expect(await loader.load(1)).toBe(1);
  });
});

describe('misuse is reported at the call', () => {
  const { loader } = recordedLoader<number>();

  test.each<[string, () => unknown, string]>([
    ['no function', () => new DataLoader(untyped(undefined)), `${REQUIRED}got: undefined.`],
    ['an object', () => new DataLoader(untyped({})), `${REQUIRED}got: [object Object].`],
    [
      'load()',
      () => loader.load(untyped(undefined)),
      'The loader.load() function must be called with a value, but got: undefined.',
    ],
    [
      'load(null)',
      () => loader.load(untyped(null)),
      'The loader.load() function must be called with a value, but got: null.',
    ],
    [
      'loadMany()',
      () => loader.loadMany(untyped(undefined)),
      'The loader.loadMany() function must be called with Array<key> but got: undefined.',
    ],
    [
      'loadMany(1)',
      () => loader.loadMany(untyped(1)),
      'The loader.loadMany() function must be called with Array<key> but got: 1.',
    ],
  ])('%s', (_, call, message) => {
    expect(call).toThrow(new TypeError(message));
  });

  test.each<[unknown, string]>([
    [{ maxBatchSize: null }, 'maxBatchSize must be a positive number: null'],
    [{ maxBatchSize: 0 }, 'maxBatchSize must be a positive number: 0'],
    [{ maxBatchSize: Number.NaN }, 'maxBatchSize must be a positive number: NaN'],
    [{ cacheKeyFn: null }, 'cacheKeyFn must be a function: null'],
    [{ batchScheduleFn: null }, 'batchScheduleFn must be a function: null'],
    [{ cacheMap: { get() {} } }, 'Custom cacheMap missing methods: set, delete, clear'],
  ])('options %j', (options, message) => {
    const make = () => new DataLoader(async (keys: readonly number[]) => keys, untyped(options));
    expect(make).toThrow(new TypeError(message));
  });

  test.each<[unknown, string]>([
    [{ concurrency: 0 }, 'concurrency: expected a whole number'],
    [{ cacheKeyFun: (key: number) => key }, 'unknown option "cacheKeyFun"'],
    [{ dedupeBy: (key: number) => key }, 'a DataLoader has a cache instead'],
  ])('options of the batcher %j', (options, message) => {
    const make = () => new DataLoader(async (keys: readonly number[]) => keys, untyped(options));
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    expect(make).toThrow(message);
  });

  test('options that are undefined count as not given', async () => {
    const options: DataLoaderOptions<number, number> = {
      batch: undefined,
      maxBatchSize: undefined,
      batchScheduleFn: undefined,
      cacheMap: undefined,
      concurrency: undefined,
    };
    const { loader: plain, calls } = recordedLoader<number>(options);
    await plain.loadMany([1, 2, 1]);
    expect(calls).toEqual([[1, 2]]);
  });
});

test('name is null unless it is given', () => {
  expect(recordedLoader().loader.name).toBeNull();
  expect(recordedLoader({}).loader.name).toBeNull();
  expect(recordedLoader({ name: 'users' }).loader.name).toBe('users');
});
