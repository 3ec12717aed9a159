/** What a loader has from its batcher. */
import { DataLoader } from '@batchwise/dataloader';
import { VirtualClock, window } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { endOfTurn, gatedLoader, recordedLoader } from './recorded-loader.js';

describe('concurrency', () => {
  test.each([
    ['', undefined],
    [', also where the option is undefined', { concurrency: undefined, policy: undefined }],
  ])('is unlimited, as in DataLoader%s', async (_, options) => {
    const { loader, batches } = gatedLoader<number>(options);
    const loads: Promise<number>[] = [];
    for (let key = 0; key < 3; key++) {
      loads.push(loader.load(key));
      await endOfTurn();
    }
    expect(batches.map(({ keys }) => keys)).toEqual([[0], [1], [2]]);
    for (const batch of batches) batch.answer();
    expect(await Promise.all(loads)).toEqual([0, 1, 2]);
  });

  test('with a limit, the keys of several ticks share the next batch', async () => {
    const { loader, batches } = gatedLoader<number>({ concurrency: 1 });
    const loads: Promise<number>[] = [];
    for (let key = 0; key < 3; key++) {
      loads.push(loader.load(key));
      await endOfTurn();
    }
    batches[0]?.answer();
    await endOfTurn();
    expect(batches.map(({ keys }) => keys)).toEqual([[0], [1, 2]]);
    batches[1]?.answer();
    expect(await Promise.all(loads)).toEqual([0, 1, 2]);
  });
});

describe('a load that the batcher rejects', () => {
  test('for its deadline, is not cached', async () => {
    const clock = new VirtualClock();
    const { loader, batches } = gatedLoader<number>({ clock, timeoutMs: 50 });
    const late = loader.load(1).catch((error) => error);
    await endOfTurn();
    await clock.advance(50);
    expect(await late).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    const second = loader.load(1);
    await endOfTurn();
    batches[1]?.answer();
    expect(await second).toBe(1);
  });

  test('for want of room, is not cached', async () => {
    const { loader, batches } = gatedLoader<number>({ concurrency: 1, maxQueueSize: 1 });
    const running = loader.load(1);
    await endOfTurn();
    const [queued, rejected] = [loader.load(2), loader.load(3)];
    await expect(rejected).rejects.toMatchObject({ code: 'QUEUE_FULL' });
    batches[0]?.answer();
    await endOfTurn();
    const again = loader.load(3);
    batches[1]?.answer();
    await endOfTurn();
    batches[2]?.answer();
    expect(await Promise.all([running, queued, again])).toEqual([1, 2, 3]);
  });
});

test('the batch function gets a signal that fires when its loads have been rejected', async () => {
  const clock = new VirtualClock();
  const signals: AbortSignal[] = [];
  const loader = new DataLoader<number, number>(
    (_, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    },
    { clock, handlerTimeoutMs: 20 },
  );
  const load = loader.load(1).catch((error) => error);
  await endOfTurn();
  expect(signals[0]?.aborted).toBe(false);
  await clock.advance(20);
  expect(await load).toMatchObject({ code: 'HANDLER_TIMEOUT' });
  expect(signals[0]?.aborted).toBe(true);
});

test('a policy that is given decides when batches are dispatched', async () => {
  const clock = new VirtualClock();
  const { loader, calls } = recordedLoader<number>({ clock, policy: window({ maxWaitMs: 10 }) });
  const first = loader.load(1);
  await endOfTurn();
  await clock.advance(5);
  const second = loader.load(2);
  await endOfTurn();
  expect(calls).toEqual([]);
  await clock.advance(5);
  expect(await Promise.all([first, second])).toEqual([1, 2]);
  expect(calls).toEqual([[1, 2]]);
});

test('costOf limits batches by the cost of their keys', async () => {
  const { loader, calls } = recordedLoader<number>({ maxBatchSize: 10, costOf: (key) => key });
  await loader.loadMany([4, 5, 6]);
  expect(calls).toEqual([[4, 5], [6]]);
});

test('isolate finds the key that makes a batch fail', async () => {
  const loader = new DataLoader(
    async (keys: readonly number[]) => {
      if (keys.includes(3)) throw new Error('3 is bad');
      return keys;
    },
    { isolate: true },
  );
  expect(await loader.loadMany([1, 2, 3, 4])).toEqual([1, 2, new Error('3 is bad'), 4]);
});

test('stats counts the loads that were not in the cache', async () => {
  const { loader } = recordedLoader<number>({ name: 'users' });
  await loader.loadMany([1, 2, 1]);
  await loader.load(2);
  expect(loader.stats()).toMatchObject({ submitted: 2, succeeded: 2, batches: 1 });
});

describe('close', () => {
  test('dispatches and answers what was loaded', async () => {
    const { loader, batches } = gatedLoader<number>();
    const loads = loader.loadMany([1, 2]);
    const closed = loader.close();
    batches[0]?.answer();
    await closed;
    expect(await loads).toEqual([1, 2]);
  });

  test('dispatches batches whose schedule function has not called back', async () => {
    const { loader, calls } = recordedLoader<number>({ maxBatchSize: 2, batchScheduleFn: () => {} });
    const loads = loader.loadMany([1, 2, 3]);
    await loader.close();
    expect(await loads).toEqual([1, 2, 3]);
    expect(calls).toEqual([[1, 2], [3]]);
  });

  test('rejects later loads, except those in the cache', async () => {
    const { loader } = recordedLoader<number>();
    await loader.load(1);
    await loader.close();
    expect(await loader.load(1)).toBe(1);
    await expect(loader.load(2)).rejects.toMatchObject({ code: 'CLOSED' });
  });
});
