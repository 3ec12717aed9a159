/** Handlers that fail, each in its own way: who hears of it, and who does not. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Gate } from '../chaos/gate.js';
import type { ChaosAnswer, ChaosItem } from '../chaos/load.js';
import { startProcessor } from '../chaos/start-program.js';
import { TestQueue } from '../chaos/test-queue.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const newQueue = () => forThisTest(new TestQueue(redis.url));

/** All of them in one batch. */
async function batchOf(queue: TestQueue, handler: (items: ChaosItem[]) => unknown, options = {}) {
  const load = queue.load();
  const requests = [load.request(), load.request(), load.request()];
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 3);
  const processor = queue.processor(options, handler as (items: ChaosItem[]) => ChaosAnswer[]);
  await Promise.all(requests);
  expect(queue.ledger.audit()).toEqual([]);
  expect(await queue.inspector.outstanding()).toBe(0);
  return { load, processor };
}

test('a handler that throws fails its batch, and the next batch is run', async () => {
  const queue = await newQueue();
  let runs = 0;
  const { load } = await batchOf(queue, (items) => {
    runs += 1;
    if (runs === 1) throw new TypeError('no such thing');
    return items.map(({ id }) => ({ id }));
  });
  const failed = queue.ledger.count('HANDLER_FAILED');
  expect(failed).toBeGreaterThan(0);
  expect(queue.ledger.outcomes).toEqual(
    failed === 3 ? { HANDLER_FAILED: 3 } : { HANDLER_FAILED: failed, answered: 3 - failed },
  );
  await load.request();
  expect(queue.ledger.count('HANDLER_FAILED')).toBe(failed);
  expect(queue.executedAgain()).toEqual([]);
});

test('the caller of a handler that throws hears what it said', async () => {
  const queue = await newQueue();
  queue.processor({}, () => {
    throw new TypeError('no such thing');
  });
  const error = await queue
    .client()
    .submit({ id: 1 })
    .catch((reason) => reason);
  expect(error).toMatchObject({ code: 'HANDLER_FAILED', message: expect.stringContaining('no such thing') });
  expect(error.cause).toMatchObject({ name: 'TypeError', message: 'no such thing' });
});

test("one item's error is its own", async () => {
  const queue = await newQueue();
  const ids: number[] = [];
  await batchOf(queue, (items) =>
    items.map(({ id }) => {
      ids.push(id);
      return ids.length === 2 ? new RangeError('not this one') : { id };
    }),
  );
  expect(queue.ledger.outcomes).toEqual({ answered: 2, 'not this one': 1 });
});

test.each([
  ['too few results', []],
  ['too many results', [1, 2, 3, 4, 5]],
  ['nothing', undefined],
  ['a text', 'done'],
])('a handler that returns %s fails its batch as BAD_RESULT', async (_, results) => {
  const queue = await newQueue();
  await batchOf(queue, () => results);
  expect(queue.ledger.outcomes).toEqual({ BAD_RESULT: 3 });
});

test('a handler that never returns is given up after handlerTimeoutMs, and its slot is used again', async () => {
  const queue = await newQueue();
  let isStuck = true;
  const { load } = await batchOf(
    queue,
    (items) => (isStuck ? new Promise(() => {}) : items.map(({ id }) => ({ id }))),
    { handlerTimeoutMs: 50, maxBatchSize: 3 },
  );
  expect(queue.ledger.outcomes).toEqual({ HANDLER_TIMEOUT: 3 });
  isStuck = false;
  await load.request();
  expect(queue.ledger.outcomes).toEqual({ HANDLER_TIMEOUT: 3, answered: 1 });
});

test('a batch may take longer than a lease: it is renewed', async () => {
  const queue = await newQueue();
  const gate = new Gate();
  const handler = async (items: ChaosItem[]) => {
    await gate.passed;
    return items.map(({ id }) => ({ id }));
  };
  // Long enough that a busy machine does not silence a processor for three quarters of it, which is taken for its end.
  const options = { leaseMs: 4000 };
  const processors = [queue.processor(options, handler), queue.processor(options, handler)];
  const load = queue.load();
  const request = load.request();
  await eventually('it to be running', () => queue.executions.size === 1);
  const { keys } = queue.inspector;
  const startedAt = Number(((await queue.inspector.send('TIME')) as string[])[0]);
  await eventually('more than a lease to have passed', async () => {
    // Not left to be taken over, after 3 s of silence: its own processor may be the first to do so, and nothing shows it.
    expect(await queue.inspector.lapsed(2500)).toBe(0);
    const [now] = (await queue.inspector.send('TIME')) as string[];
    return Number(now) > startedAt + 5;
  });
  gate.open();
  await request;
  expect(queue.ledger.outcomes).toEqual({ answered: 1 });
  expect(queue.executedAgain()).toEqual([]);
  expect(processors.map((processor) => processor.stats().takenOver)).toEqual([0, 0]);
  expect(await queue.inspector.send('HGET', keys.totals, 'redelivered')).toBeNull();
});

test.each(['exit', 'kill'] as const)(
  'of a batch whose processors end each time (%s) only the guilty item dies, after three deliveries',
  async (does) => {
    const queue = await newQueue();
    const load = queue.load();
    const requests = Array.from({ length: 64 }, (_, i) => load.request({}, i === 20 ? does : undefined));
    await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 64);

    let deaths = 0;
    let executions = 0;
    const options = { url: redis.url, queue: queue.queue, leaseMs: 400 };
    let hasEnded = false;
    const settled = Promise.all(requests).then(() => {
      hasEnded = true;
    });
    while (!hasEnded) {
      const { child, said } = await startProcessor(options);
      await Promise.race([settled, child.exited]);
      if (!child.isRunning) deaths += 1;
      await child.kill();
      executions += said<{ event: 'ran'; ids: number[] }>('ran').flatMap(({ ids }) => ids).length;
    }
    expect(queue.ledger.audit()).toEqual([]);
    expect(queue.ledger.outcomes).toEqual({ answered: 63, HANDLER_FAILED: 1 });
    expect(deaths).toBe(3);
    expect(executions).toBeGreaterThanOrEqual(66);
    expect(await queue.inspector.deadLetters()).toBe(1);
    expect(await queue.inspector.outstanding()).toBe(0);
    expect(await queue.inspector.pending()).toBe(0);
  },
);

test('the caller of an item that died hears where it is to be found', async () => {
  const queue = await newQueue();
  const first = queue.processor();
  await first.ready;
  await first.close();
  const answer = queue
    .client()
    .submit({ id: 1 })
    .catch((error) => error);
  await eventually('it to be queued', async () => (await queue.inspector.outstanding()) === 1);
  await queue.inspector.takeAsIfDead('dead', 1);
  await queue.inspector.letLapse('dead');
  const processor = queue.processor({ maxDeliveries: 1 });
  const error = await answer;
  expect(error).toMatchObject({
    code: 'HANDLER_FAILED',
    message: expect.stringMatching(
      /delivered 1 times without a result.*batchwise dead list --queue q-\S+ \(\d+-\d+\)/,
    ),
  });
  expect(queue.executions.size).toBe(0);
  expect(await queue.inspector.deadLetters()).toBe(1);
  await processor.close();
});
