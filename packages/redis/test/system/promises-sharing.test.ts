/** Who is served first, and by whom. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Gate } from '../chaos/gate.js';
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

const answers = (items: ChaosItem[]) => items.map(({ id }) => ({ id }));

test('high goes before normal, and normal before low', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  // All of a level in one read: for more of it than one brings, those that are less urgent wait for a while only.
  const processor = queue.processor({ maxBatchSize: 4, priorityAgeMs: 600_000 });
  await processor.pause();
  await processor.ready;
  const load = queue.load();
  const requests: Promise<void>[] = [];
  // The least urgent first; in one turn of the event loop the client would send them in the right order.
  for (const priority of [-1, 0, 1]) {
    const queued = await queue.inspector.outstanding();
    for (let i = 0; i < 4; i += 1) requests.push(load.request({ priority }));
    await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === queued + 4);
  }
  processor.resume();
  await Promise.all(requests);
  const order = [...queue.executions.keys()];
  const firstId = Math.min(...order);
  const priorityOf = (id: number) => Math.floor((id - firstId) / 4) - 1;
  expect(order.map(priorityOf)).toEqual([1, 1, 1, 1, 0, 0, 0, 0, -1, -1, -1, -1]);
  expect(queue.ledger.outcomes).toEqual({ answered: 12 });
});

test('low is not starved: what has waited for long enough goes before what is more urgent and new', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const gate = new Gate();
  queue.processor({ maxBatchSize: 2, priorityAgeMs: 20 }, async (items) => {
    await gate.passed;
    return answers(items);
  });
  const load = queue.load();
  const requests = [load.request()];
  await eventually('it to be running', () => queue.executions.size === 1);
  requests.push(load.request({ priority: -1 }));
  await eventually('it to be queued', async () => (await queue.inspector.outstanding()) === 2);
  const [[lowId]] = (await queue.inspector.send('XRANGE', queue.inspector.keys.requests[2], '-', '+')) as [
    [string],
  ];
  await eventually('its time to have come', async () => {
    const [seconds] = (await queue.inspector.send('TIME')) as [string];
    return Number(seconds) * 1000 > Number.parseInt(lowId, 10) + 100;
  });
  const highs = Array.from({ length: 20 }, () => load.request({ priority: 1 }));
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 22);
  gate.open();
  await Promise.all([...requests, ...highs]);
  const [first = 0, second, third] = [...queue.executions.keys()];
  expect([second, third]).toContain(first + 1);
  expect(queue.ledger.outcomes).toEqual({ answered: 22 });
});

test('two processors of unequal speed share the work, the quicker one more of it', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const options = { maxBatchSize: 8 };
  const ran = { quick: 0, slow: 0 };
  let quickRuns = 0;
  const quick = queue.processor(options, async (items) => {
    ran.quick += items.length;
    quickRuns += 1;
    return answers(items);
  });
  const slow = queue.processor(options, async (items) => {
    ran.slow += items.length;
    // As long as ten batches of the quick one, or until there is hardly anything left for that to run.
    const enough = quickRuns + 10;
    await eventually(
      'the quick one to run',
      () => quickRuns >= enough || queue.ledger.unsettled <= 2 * options.maxBatchSize,
    );
    return answers(items);
  });
  await Promise.all([quick.ready, slow.ready]);
  const load = queue.load();
  await load.run(1500, 200);
  expect(queue.ledger.outcomes).toEqual({ answered: 1500 });
  expect(queue.ledger.audit()).toEqual([]);
  expect(queue.executedAgain()).toEqual([]);
  expect(ran.slow).toBeGreaterThan(0);
  expect(ran.quick).toBeGreaterThan(2 * ran.slow);
});

test('one that is busy leaves what waits to one that is free', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const gate = new Gate();
  let stuckRuns = 0;
  const stuck = queue.processor({ maxBatchSize: 4, leaseMs: 1_000_000 }, async (items) => {
    stuckRuns += 1;
    await gate.passed;
    return answers(items);
  });
  const load = queue.load();
  const first = load.request();
  await eventually('it to be running', () => stuckRuns === 1);
  // The lease of the processor that takes over decides: with a short one it would take the item of the busy one.
  queue.processor({ maxBatchSize: 4, leaseMs: 1_000_000 });
  // If the busy one held some of these, they would wait for the gate.
  await Promise.all(Array.from({ length: 100 }, () => load.request()));
  expect(stuckRuns).toBe(1);
  expect(await queue.inspector.pending(stuck.consumer)).toBe(1);
  gate.open();
  await first;
  expect(queue.ledger.outcomes).toEqual({ answered: 101 });
});
