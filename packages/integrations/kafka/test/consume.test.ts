/** Consuming, on a double of the kafkajs consumer. */
import { VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type ConsumeOptions, consume, type ReceivedMessage } from '../src/index.js';
import { deferred } from './support/deferred.js';
import { FakeConsumer } from './support/fake-consumer.js';

const texts = (received: readonly ReceivedMessage[]) => received.map(({ message }) => String(message.value));
const range = (count: number) => Array.from({ length: count }, (_, index) => String(index));
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Handles the messages in the order and with the outcomes that the test says. */
function manual() {
  const open = new Map<string, (outcome: unknown) => void>();
  const handled: string[] = [];
  const handler = (received: readonly ReceivedMessage[]) =>
    Promise.all(
      texts(received).map(
        (text) =>
          new Promise<unknown>((resolve) => {
            handled.push(text);
            open.set(text, resolve);
          }),
      ),
    );
  return {
    handler,
    handled,
    async finish(text: string, outcome: unknown = text) {
      while (!open.has(text)) await turn();
      open.get(text)?.(outcome);
      open.delete(text);
      for (let turns = 0; turns < 3; turns += 1) await turn();
    },
  };
}

test('subscribes and runs without the automatic offsets of kafkajs', async () => {
  const fake = new FakeConsumer([[]]);
  await consume(fake.methods, ['orders', /^mail/], () => {}, { fromBeginning: true });
  expect(fake.subscription).toEqual({ topics: ['orders', /^mail/], fromBeginning: true });
  expect(fake.config).toMatchObject({ eachBatchAutoResolve: false, partitionsConsumedConcurrently: 8 });
});

test('commits all messages of a batch whose results are no errors', async () => {
  const fake = new FakeConsumer([range(10)]);
  const seen: string[] = [];
  const consumer = await consume(
    fake.methods,
    ['orders'],
    (received) => {
      seen.push(...texts(received));
      expect(received[0]).toMatchObject({ topic: 'orders', partition: 0 });
    },
    { maxBatchSize: 4 },
  );
  await fake.fetch();
  expect(seen).toEqual(range(10));
  expect(fake.committed).toEqual([10]);
  expect(consumer.stats()).toMatchObject({ batches: 3, succeeded: 10 });
  await consumer.close();
});

test('commits only up to the first message that is not done, in whatever order they finish', async () => {
  const clock = new VirtualClock();
  const fake = new FakeConsumer([range(4)]);
  const { handler, finish } = manual();
  await consume(fake.methods, ['orders'], handler, { maxBatchSize: 1, concurrency: 4, clock });
  const fetched = fake.fetch();
  const committedAfter = async (text: string) => {
    const finished = finish(text);
    await clock.advance(0);
    await finished;
    await clock.advance(1000); // heartbeat and commit
    return fake.committed[0];
  };
  await clock.advance(0);
  expect(await committedAfter('1')).toBe(0);
  expect(await committedAfter('3')).toBe(0);
  expect(await committedAfter('0')).toBe(2);
  expect(await committedAfter('2')).toBe(4);
  await fetched;
  expect(fake.heartbeats).toBeGreaterThanOrEqual(3);
});

test('several partitions share a batch', async () => {
  const fake = new FakeConsumer([['a'], ['b'], ['c']]);
  const batches: string[][] = [];
  await consume(fake.methods, ['orders'], (received) => {
    batches.push(texts(received));
  });
  await Promise.all([0, 1, 2].map((partition) => fake.fetch(partition)));
  expect(batches).toEqual([['a', 'b', 'c']]);
  expect(fake.committed).toEqual([1, 1, 1]);
});

test('a failed message stops its partition, which continues with it after a while', async () => {
  const clock = new VirtualClock();
  const fake = new FakeConsumer([range(20), range(3)]);
  const handled: string[] = [];
  let isBroken = true;
  await consume(
    fake.methods,
    ['orders'],
    (received) =>
      received.map(({ partition, message }) => {
        const text = `${partition}:${message.value}`;
        handled.push(text);
        return text === '0:3' && isBroken ? new Error('database is down') : text;
      }),
    { maxBatchSize: 2, clock, retryDelayMs: 500 },
  );
  const fetched = Promise.all([fake.fetch(0), fake.fetch(1)]);
  await clock.advance(0);
  await fetched;
  expect(fake.committed).toEqual([3, 3]);
  expect(fake.isPaused(0)).toBe(true);
  expect(fake.isPaused(1)).toBe(false);
  expect(fake.errors).toEqual(['Message failed, delivered again in 500 ms: database is down']);
  // No more of them were handled than were in the batcher already.
  expect(handled.filter((text) => text.startsWith('0:')).length).toBeLessThanOrEqual(3 + 4);

  isBroken = false;
  const resumed = fake.resumed();
  await clock.advance(500);
  await resumed;
  const again = fake.fetch(0);
  await clock.advance(0);
  await again;
  expect(fake.committed).toEqual([20, 3]);
});

test('the partition stops at the first of several failed messages', async () => {
  const fake = new FakeConsumer([range(6)]);
  const { handler, finish } = manual();
  const consumer = await consume(fake.methods, ['orders'], handler, {
    maxBatchSize: 1,
    concurrency: 6,
    retryDelayMs: 0,
  });
  const fetched = fake.fetch();
  await finish('4', new Error('no 4'));
  await finish('2', new Error('no 2'));
  for (const text of ['5', '3', '1', '0']) await finish(text);
  await fetched;
  expect(fake.errors).toEqual([expect.stringContaining('no 2')]);
  expect(fake.committed).toEqual([2]);
  await consumer.close();
});

test('a message that onFailed has taken counts as done', async () => {
  const fake = new FakeConsumer([range(5)]);
  const dead: string[] = [];
  const taken = deferred();
  await consume(
    fake.methods,
    ['orders'],
    (received) => texts(received).map((text) => (text === '1' ? new Error('no 1') : text)),
    {
      onFailed: async (error, { topic, partition, message }) => {
        dead.push(`${topic} ${partition} ${message.offset}: ${error.message}`);
        await taken.promise;
      },
    },
  );
  const fetched = fake.fetch();
  while (dead.length === 0) await turn();
  expect(fake.committed).toEqual([0]);
  taken.resolve();
  await fetched;
  expect(dead).toEqual(['orders 0 1: no 1']);
  expect(fake.committed).toEqual([5]);
  expect(fake.isPaused()).toBe(false);
});

test('a message that onFailed cannot take stops its partition', async () => {
  const fake = new FakeConsumer([range(3)]);
  const consumer = await consume(
    fake.methods,
    ['orders'],
    (received) => texts(received).map((text) => (text === '1' ? new Error('no 1') : text)),
    {
      onFailed: () => Promise.reject(new Error('no dead letters')),
    },
  );
  await fake.fetch();
  expect(fake.committed).toEqual([1]);
  expect(fake.isPaused()).toBe(true);
  expect(fake.errors).toEqual([expect.stringContaining('no dead letters')]);
  await consumer.close();
});

test('a rebalance ends the run after the messages that are in the batcher, and rejects', async () => {
  const clock = new VirtualClock();
  const fake = new FakeConsumer([range(10)]);
  const { handler, handled, finish } = manual();
  await consume(fake.methods, ['orders'], handler, { maxBatchSize: 1, clock });
  const rebalance = new Error('The group is rebalancing');
  fake.onHeartbeat = () => {
    throw rebalance;
  };
  const fetched = fake.fetch();
  const outcome = fetched.catch((error: unknown) => error);
  await clock.advance(1000);
  for (const text of ['0', '1']) {
    await clock.advance(0);
    await finish(text);
  }
  await clock.advance(0);
  expect(await outcome).toBe(rebalance);
  expect(handled).toEqual(['0', '1']);
  expect(fake.committed).toEqual([2]);
});

test('offsets of a run from before the group was joined again are not resolved', async () => {
  const fake = new FakeConsumer([range(3)]);
  const { handler, finish } = manual();
  const failed: Error[] = [];
  await consume(fake.methods, ['orders'], handler, {
    maxBatchSize: 1,
    concurrency: 3,
    onFailed: (error) => failed.push(error),
  });
  const fetched = fake.fetch();
  await finish('0');
  fake.join();
  await finish('1');
  await finish('2', new Error('no 2'));
  await fetched;
  expect(fake.committed).toEqual([0]);
  expect(failed).toEqual([]);
  expect(fake.isPaused()).toBe(false);
});

test('a run whose offset was set by seek() is not resolved further', async () => {
  const fake = new FakeConsumer([range(3)]);
  const { handler, finish } = manual();
  await consume(fake.methods, ['orders'], handler, { maxBatchSize: 1, concurrency: 1 });
  const fetched = fake.fetch();
  await finish('0');
  fake.isStale = true;
  await finish('1');
  await finish('2');
  await fetched;
  expect(fake.committed).toEqual([1]);
});

test('close() finishes what is in the batcher and leaves the rest', async () => {
  const fake = new FakeConsumer([range(10)]);
  const { handler, handled, finish } = manual();
  const consumer = await consume(fake.methods, ['orders'], handler, { maxBatchSize: 1 });
  void fake.fetch();
  while (handled.length === 0) await turn();
  const closed = consumer.close();
  await finish('0');
  await finish('1');
  await closed;
  expect(handled).toEqual(['0', '1']);
  expect(fake.committed).toEqual([2]);
  expect(fake.isListenedTo).toBe(false);
});

test('close({ timeoutMs }) gives up what still runs: no commit, no dead letter', async () => {
  const fake = new FakeConsumer([range(4)]);
  const started = deferred();
  const failed: Error[] = [];
  const consumer = await consume(
    fake.methods,
    ['orders'],
    () => {
      started.resolve();
      return new Promise<never>(() => {});
    },
    { onFailed: (error) => failed.push(error) },
  );
  void fake.fetch();
  await started.promise;
  await consumer.close({ timeoutMs: 1 });
  expect(failed).toEqual([]);
  expect(fake.committed).toEqual([0]);
  expect(fake.isPaused()).toBe(false);
});

test('close() of a stopped partition leaves no timer behind', async () => {
  const clock = new VirtualClock();
  const fake = new FakeConsumer([range(1)]);
  const consumer = await consume(fake.methods, ['orders'], () => [new Error('no')], { clock });
  const fetched = fake.fetch();
  await clock.advance(0);
  await fetched;
  const closed = consumer.close();
  await clock.advance(10_000);
  await closed;
  expect(fake.isPaused()).toBe(true);
});

/** The promise of at-least-once delivery, whatever fails and in whatever order the batches end. */
test('every message succeeds before it is committed, and all are committed in the end', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(2), { minLength: 1, maxLength: 30 }), // how often each message fails
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 4 }),
      fc.integer({ min: 1, max: 12 }),
      fc.boolean(),
      fc.scheduler(),
      async (failures, maxBatchSize, concurrency, fetchSize, takesFailed, scheduler) => {
        const clock = new VirtualClock();
        const fake = new FakeConsumer([failures.map((_, index) => String(index))]);
        const left = [...failures];
        const done = new Set<number>();
        await consume(
          fake.methods,
          ['orders'],
          async (received) => {
            await scheduler.schedule(Promise.resolve());
            return received.map(({ message: { offset } }) => {
              const index = Number(offset);
              const fails = (left[index] ?? 0) > 0;
              left[index] = (left[index] ?? 0) - 1;
              if (fails) return new Error(`no ${offset}`);
              done.add(index);
              return offset;
            });
          },
          {
            maxBatchSize,
            concurrency,
            clock,
            retryDelayMs: 10,
            onFailed: takesFailed ? (_error, { message }) => done.add(Number(message.offset)) : undefined,
          },
        );
        const isDone = () => fake.committed[0] === failures.length;
        for (let fetches = 0; !isDone() && fetches < 200; fetches += 1) {
          let isOver = false;
          const fetched = fake.fetch(0, fetchSize).then(() => {
            isOver = true;
          });
          while (!isOver) {
            await clock.advance(0);
            if (scheduler.count() > 0) await scheduler.waitOne();
            await turn();
          }
          await fetched;
          for (let offset = 0; offset < (fake.committed[0] ?? 0); offset += 1) expect(done).toContain(offset);
          await clock.advance(10);
          expect(fake.isPaused()).toBe(false);
        }
        expect(isDone()).toBe(true);
      },
    ),
    { numRuns: 60 },
  );
});

test.each([
  [{ maxQueueSize: 5 }, /maxQueueSize: not an option of consume/],
  [{ timeoutMs: 5 }, /timeoutMs: not an option of consume/],
  [{ retryDelayMs: -1 }, /retryDelayMs: expected milliseconds from 0 up, got -1/],
  [{ onFailed: 'log' }, /onFailed: expected a function, got string/],
  [{ maxBatchSise: 5 }, /maxBatchSise/],
])('rejects the options %j', async (options, message) => {
  const consumer = new FakeConsumer([[]]).methods;
  await expect(consume(consumer, ['orders'], () => {}, options as ConsumeOptions)).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringMatching(message),
  });
});
