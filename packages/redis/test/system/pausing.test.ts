/** A processor that is paused: others do it all, what it holds stays its own, and nothing is lost on the way. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RedisQueue } from '../../src/index.js';
import { Gate } from '../chaos/gate.js';
import type { ChaosItem } from '../chaos/load.js';
import { TestQueue } from '../chaos/test-queue.js';
import { startCutProxy } from '../support/cut-proxy.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const newQueue = () => forThisTest(new TestQueue(redis.url));
const answers = (items: ChaosItem[]) => items.map(({ id }) => ({ id }));
/** Longer than any test: what depends on it would not happen. */
const LONG_MS = 1_000_000;

/** The handler of one that must not run, and how many it ran all the same. */
function countingHandler() {
  const ran = { items: 0 };
  const handler = (items: ChaosItem[]) => {
    ran.items += items.length;
    return answers(items);
  };
  return { ran, handler };
}

test('while it is paused others do it all, though it was waiting for the next item; then it works again', async () => {
  const queue = await newQueue();
  const { ran, handler } = countingHandler();
  const paused = queue.processor({ leaseMs: LONG_MS }, handler);
  const load = queue.load();
  await load.request(); // from here on its read blocks
  expect(ran.items).toBe(1);
  await paused.pause();
  expect(paused.stats().isPaused).toBe(true);

  const other = queue.processor({ leaseMs: LONG_MS });
  await load.run(100, 10);
  expect(ran.items).toBe(1);
  expect(await queue.inspector.pending(paused.consumer)).toBe(0);

  await other.close();
  paused.resume();
  await load.run(100, 10);
  expect(ran.items).toBe(101);
  expect(queue.ledger.audit()).toEqual([]);
  expect(queue.ledger.outcomes).toEqual({ answered: 201 });
  expect(queue.executedAgain()).toEqual([]);
});

test('what runs is finished and answered under its lease; what was fetched and not begun goes to others', async () => {
  const queue = await newQueue();
  const gate = new Gate();
  const leaseMs = 400;
  const batches: number[] = [];
  // Of the second group nothing can begin as long as the first one runs.
  const options = { leaseMs, maxBatchSize: 4, groupOf: ({ id }: ChaosItem) => id % 2 };
  const load = queue.load();
  const requests = Array.from({ length: 8 }, () => load.request());
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 8);
  const paused = queue.processor(options, async (items) => {
    batches.push(items.length);
    await gate.passed;
    return answers(items);
  });
  await eventually('some to run and some to wait behind', () => {
    const { running, queued } = paused.stats();
    return running > 0 && queued > 0;
  });
  const { running, held } = paused.stats();
  await paused.pause();
  expect(paused.stats()).toMatchObject({ running, queued: 0, held: running });
  // They are there for others by now, as if they had never been delivered.
  expect(await queue.inspector.lapsed(leaseMs)).toBe(held - running);

  const other = queue.processor(options);
  await eventually('the others to be answered', () => queue.ledger.count('answered') === 8 - running);
  // The other one looks again and again for what has lapsed.
  const { processors } = queue.inspector.keys;
  const lastBeat = async () => String(await queue.inspector.send('HGET', processors, paused.consumer));
  for (let beats = 0; beats < 8; beats += 1) {
    const before = await lastBeat();
    await eventually('a sign of life', async () => (await lastBeat()) !== before);
  }
  expect(await queue.inspector.pending(paused.consumer)).toBe(running);
  gate.open();
  await Promise.all(requests);
  expect(batches).toEqual([running]);
  expect(paused.stats().fenced).toBe(0);
  expect(other.stats().takenOver).toBe(held - running);
  expect(queue.ledger.audit()).toEqual([]);
  expect(queue.ledger.outcomes).toEqual({ answered: 8 });
  expect(queue.executedAgain()).toEqual([]);
});

test('where there is no other, it takes again itself what it gave back, at once', async () => {
  const queue = await newQueue();
  const gate = new Gate();
  const load = queue.load();
  const requests = Array.from({ length: 4 }, () => load.request());
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 4);
  const options = { leaseMs: LONG_MS, maxBatchSize: 2, groupOf: ({ id }: ChaosItem) => id };
  const processor = queue.processor(options, async (items) => {
    await gate.passed;
    return answers(items);
  });
  // Time and again, and never more often than it is answered.
  for (let round = 1; round <= 5; round += 1) {
    await eventually('some to be held and not begun', () => processor.stats().queued > 0);
    await processor.pause();
    expect(processor.stats()).toMatchObject({ queued: 0, held: 1 });
    processor.resume();
  }
  gate.open();
  await Promise.all(requests);
  expect(queue.ledger.outcomes).toEqual({ answered: 4 });
  expect(queue.executedAgain()).toEqual([]);
  expect(await queue.inspector.deadLetters()).toBe(0);
});

test('it takes nothing over, and is listed as paused, with a rate that counts for nobody', async () => {
  const queue = await newQueue();
  const leaseMs = 200;
  const operator = await forThisTest(new RedisQueue({ url: redis.url, queue: queue.queue }));
  const { ran, handler } = countingHandler();
  const processor = queue.processor({ leaseMs, maxBatchSize: 4 }, handler);
  const load = queue.load();
  await load.run(40, 8);
  await eventually('a rate', async () => (await operator.status()).ratePerSecond > 0);
  await processor.pause();
  const status = await eventually('no rate', async () => {
    const seen = await operator.status();
    return seen.ratePerSecond === 0 ? seen : undefined;
  });
  expect(status.processors).toMatchObject([{ id: processor.consumer, isPaused: true, ratePerSecond: 0 }]);

  const request = load.request({ timeoutMs: LONG_MS });
  await eventually('it to be queued', async () => (await queue.inspector.outstanding()) === 1);
  await queue.inspector.takeAsIfDead('dead', 1);
  await queue.inspector.letLapse('dead');
  const { processors } = queue.inspector.keys;
  const lastBeat = async () => String(await queue.inspector.send('HGET', processors, processor.consumer));
  for (let beats = 0; beats < 4; beats += 1) {
    const before = await lastBeat();
    await eventually('a sign of life', async () => (await lastBeat()) !== before);
  }
  expect(ran.items).toBe(40);
  processor.resume();
  await request;
  expect(ran.items).toBe(41);
  await eventually('it to be at work again', async () => {
    const [seen] = (await operator.status()).processors;
    return seen?.isPaused === false && seen.ratePerSecond > 0;
  });
});

test('it closes while it is paused, with something running and with nothing, and is forgotten', async () => {
  const queue = await newQueue();
  const gate = new Gate();
  const busy = queue.processor({ leaseMs: LONG_MS }, async (items) => {
    await gate.passed;
    return answers(items);
  });
  const load = queue.load();
  const request = load.request();
  await eventually('it to be running', () => busy.stats().running === 1);
  void busy.pause();
  const closed = busy.close();
  gate.open();
  await closed;
  await request;

  const idle = queue.processor({ leaseMs: LONG_MS });
  await idle.ready;
  await idle.pause();
  await idle.close();
  const early = queue.processor({ leaseMs: LONG_MS });
  await early.pause(); // before it has begun
  await early.ready;
  await early.close();
  expect(await queue.inspector.consumers()).toEqual([]);
  expect(queue.ledger.outcomes).toEqual({ answered: 1 });
});

test('one that was paused before it began takes nothing until it may', async () => {
  const queue = await newQueue();
  const { ran, handler } = countingHandler();
  const processor = queue.processor({ leaseMs: LONG_MS }, handler);
  await processor.pause();
  await processor.ready;
  const load = queue.load();
  const request = load.request();
  await eventually('it to be queued', async () => (await queue.inspector.outstanding()) === 1);
  expect(await queue.inspector.pending()).toBe(0);
  expect(ran.items).toBe(0);
  processor.resume();
  await request;
  expect(queue.ledger.outcomes).toEqual({ answered: 1 });
});

test('paused and resumed under load, on connections that break, all callers are settled once', async () => {
  const proxy = await forThisTest(startCutProxy(redis.port));
  const queue = await forThisTest(new TestQueue(proxy.url));
  const options = { leaseMs: 1000, maxBatchSize: 8, concurrency: 2, maxDeliveries: 1000 };
  const handler = async (items: ChaosItem[]) => {
    await new Promise((resolve) => setImmediate(resolve));
    return answers(items);
  };
  const processors = [queue.processor(options, handler), queue.processor(options, handler)];
  const load = queue.load();
  await load.request();
  load.start(1000);
  for (let round = 0; round < 12; round += 1) {
    const processor = processors[round % 2] as (typeof processors)[number];
    const pausing = processor.pause();
    if (round % 3 === 0) proxy.cut();
    if (round % 4 !== 1) await pausing; // else it is resumed in the middle of it
    const seen = queue.ledger.count('answered');
    await eventually('the other to answer', () => queue.ledger.count('answered') > seen + 30);
    processor.resume();
    await pausing;
  }
  await load.stop();
  expect(queue.ledger.audit()).toEqual([]);
  // On a slow machine the load is more than the processors can run.
  const { answered = 0, QUEUE_FULL: rejected = 0, ...others } = queue.ledger.outcomes;
  expect(others).toEqual({});
  expect(answered + rejected).toBe(load.count);
  await eventually('nothing to be left', async () => (await queue.inspector.outstanding()) === 0);
});
