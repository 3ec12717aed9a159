/**
 * Batches of items of several priorities are those that a batcher in the process would form: full as long as enough items
 * wait, and of the most urgent ones. The handler is gated, so that it is known what waits when a slot becomes free.
 */
import { Batcher, type BatcherOptions, type Clock, greedy, realClock } from 'batchwise';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ChaosItem } from '../chaos/load.js';
import { TestQueue } from '../chaos/test-queue.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** Timers work, but no time passes: on a slow machine Redis has as long to answer as it needs. */
const standingClock: Clock = {
  now: () => 1000,
  setTimer: (callback, delayMs) => realClock.setTimer(callback, delayMs),
  clearTimer: (timer) => realClock.clearTimer(timer),
  defer: (callback) => realClock.defer(callback),
};

/** Items of each priority that are submitted while a batch runs, or before the first. */
type Arrivals = Readonly<Partial<Record<'high' | 'normal' | 'low', number>>>;
const PRIORITIES = { high: 1, normal: 0, low: -1 } as const;

/** A handler that tells what it was called with, and returns when it is let go on. */
class GatedHandler {
  readonly batches: number[][] = [];
  #open: (() => void)[] = [];

  readonly run = async (items: ChaosItem[]): Promise<{ id: number }[]> => {
    this.batches.push(items.map(({ id }) => id));
    await new Promise<void>((resolve) => this.#open.push(resolve));
    return items.map(({ id }) => ({ id }));
  };

  isRunning(batch: number): Promise<unknown> {
    return eventually(`batch ${batch} to run`, () => this.batches.length === batch);
  }

  open(): void {
    for (const open of this.#open.splice(0)) open();
  }
}

interface Target {
  submit(item: ChaosItem, options: { priority: number }): Promise<unknown>;
  /** So many items, running ones included, are where the batches are formed. */
  holds(items: number): Promise<unknown>;
}

/** What each batch consisted of, when each of these arrivals came while the batch before it ran. */
async function batchesOf(
  rounds: readonly Arrivals[],
  handler: GatedHandler,
  target: Target,
  start: () => void,
) {
  const answers: Promise<unknown>[] = [];
  let id = 0;
  let answered = 0;
  for (let round = 0; round === 0 || answered < id; round += 1) {
    for (const [name, count = 0] of Object.entries(rounds[round] ?? {})) {
      const priority = PRIORITIES[name as keyof Arrivals];
      for (let i = 0; i < count; i += 1) answers.push(target.submit({ id: ++id }, { priority }));
    }
    await target.holds(id - answered);
    if (round === 0) start();
    else handler.open();
    answered += handler.batches[round - 1]?.length ?? 0;
    if (answered < id) await handler.isRunning(round + 1);
  }
  await Promise.all(answers);
  return handler.batches;
}

const options: BatcherOptions<ChaosItem> = {
  clock: standingClock,
  policy: greedy(),
  maxBatchSize: 16,
  priorityAgeMs: 1_000_000_000,
};

async function inProcess(rounds: readonly Arrivals[]): Promise<number[][]> {
  const handler = new GatedHandler();
  // Nothing starts before all of the first round are there: its first batch is one that holds the slot.
  let started = () => {};
  const first = new Promise<void>((resolve) => {
    started = resolve;
  });
  const batcher = new Batcher(
    async (items: ChaosItem[]) => {
      if (items[0]?.id !== 0) return handler.run(items);
      await first;
      return items.map(({ id }) => ({ id }));
    },
    { ...options, groupOf: ({ id }) => id === 0 },
  );
  void batcher.submit({ id: 0 });
  await eventually('the slot to be taken', () => batcher.stats().running === 1);
  const target: Target = {
    submit: (item, { priority }) => batcher.submit(item, { priority }),
    holds: async () => {},
  };
  return batchesOf(rounds, handler, target, () => started());
}

async function inRedis(
  rounds: readonly Arrivals[],
  more: { readonly maxWaitMs?: number },
): Promise<number[][]> {
  const queue = await forThisTest(new TestQueue(redis.url));
  const handler = new GatedHandler();
  const client = queue.client();
  const target: Target = {
    submit: (item, { priority }) => client.submit(item, { priority }),
    holds: (items) =>
      eventually(`${items} in the queue`, async () => (await queue.inspector.outstanding()) === items),
  };
  return batchesOf(rounds, handler, target, () => {
    queue.processor({ ...options, ...more, leaseMs: 1_000_000 }, handler.run);
  });
}

const cases: Readonly<Record<string, readonly Arrivals[]>> = {
  'many callers, a few less urgent ones and one more urgent one': [
    { low: 5, normal: 100, high: 1 },
    { normal: 15, high: 1 },
    { normal: 16 },
    { low: 1, normal: 14, high: 1 },
    { normal: 16 },
  ],
  'less urgent items that are left over, and more urgent ones that come while the batch runs': [
    { low: 15, normal: 10 },
    { normal: 16 },
    { high: 3 },
    { normal: 20, high: 1 },
  ],
  'a batch of less urgent items that is left over': [{ low: 20, normal: 14 }, { normal: 16 }, { high: 2 }],
};

// Root cause: a read that had just been sent counted as one that had found nothing, and what was left over went alone.
test.each(Object.entries(cases))('%s: the same batches as in the process', async (_, rounds) => {
  const expected = await inProcess(rounds);
  expect(await inRedis(rounds, {})).toEqual(expected);
  expect(await inRedis(rounds, { maxWaitMs: 0 })).toEqual(expected);
});
