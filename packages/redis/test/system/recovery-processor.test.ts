/** Processors whose connections drop all the time, and whose Redis is another one all of a sudden. */
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadScript } from '../../src/connection/script.js';
import { Gate } from '../chaos/gate.js';
import { TestQueue } from '../chaos/test-queue.js';
import { startCutProxy } from '../support/cut-proxy.js';
import { eventually } from '../support/eventually.js';
import { behindProxy, withReplica } from '../support/failover.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const isQueued = (queue: TestQueue, count: number) =>
  eventually(`${count} items in the queue`, async () => (await queue.inspector.outstanding()) === count);

/** Items that a processor has fetched just before it ended. */
async function itemsOfADeadProcessor(queue: TestQueue, count: number) {
  for (const stream of queue.inspector.keys.requests) {
    await queue.inspector.send('XGROUP', 'CREATE', stream, 'processors', '0', 'MKSTREAM');
  }
  const load = queue.load();
  const requests = Array.from({ length: count }, () => load.request());
  await isQueued(queue, count);
  await queue.inspector.takeAsIfDead('dead', count);
  return requests;
}

// Root cause: after each reconnect nothing was taken over for a whole lease.
test('items of a dead processor are taken over though connections drop more often than once per lease', async () => {
  const proxy = await forThisTest(startCutProxy(redis.port));
  const queue = await forThisTest(new TestQueue(redis.url));
  const requests = await itemsOfADeadProcessor(queue, 3);
  const renew = loadScript('renew').sha1;
  let renewals = 0;
  const everyThird = (command: Buffer) => command.includes(renew) && ++renewals % 3 === 0;
  let isOver = false;
  const cutting = async () => {
    while (!isOver) await proxy.cutAfterWrite(everyThird);
  };
  void cutting();
  queue.processor({ url: proxy.url, leaseMs: 400 });
  await Promise.all(requests);
  // Where the machine was slow, the items were free to take before the first connection was cut.
  await eventually('a connection that was cut', () => proxy.cuts > 0);
  isOver = true;
  expect(queue.ledger.outcomes).toEqual({ answered: 3 });
});

// Root cause: the first heartbeat after the outage had waited for the connection, and did not tell the time of Redis.
test('an item that was lost on its way before an outage is not run after its deadline', async () => {
  const { proxy, queue, outside } = await behindProxy(redis.port);
  let reads = 0;
  proxy.holdAnswersTo((command) => command.includes('XREADGROUP') && ++reads === 2);
  queue.processor({ leaseMs: 400 });
  expect(await outside.client().submit({ id: 1 })).toEqual({ id: 1 });
  const longAgo = `${Date.now() - 60_000}-0`;
  const [high] = outside.inspector.keys.requests;
  await outside.inspector.send('XADD', high, longAgo, 'json-gone 1 1000', '{"id":2}');
  await eventually('it to be delivered', async () => (await outside.inspector.pending()) === 1);
  await proxy.refuse(true);
  proxy.cut();
  proxy.resume();
  await delay(300); // a heartbeat is due, and waits
  await proxy.refuse(false);
  await isQueued(outside, 0);
  expect(await outside.client().submit({ id: 3 })).toEqual({ id: 3 });
  expect([...queue.executions.keys()]).toEqual([1, 3]);
});

// The lease of an item ends by Redis' clock: after a failover to one that is behind it would be valid until then.
test('leases that began in the future, by the clock of a new master, begin anew', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const { processors, requests } = queue.inspector.keys;
  await itemsOfADeadProcessor(queue, 2);
  await queue.inspector.letLapse('dead');
  await queue.inspector.send('HSET', processors, 'dead', '99999999999999 5.000 {}');
  await queue.processor({ leaseMs: 1_000_000 }).ready;
  const idle = async () =>
    (
      (await queue.inspector.send(
        'XPENDING',
        requests[1],
        'processors',
        '-',
        '+',
        '10',
        'dead',
      )) as number[][]
    ).map(([, , ms]) => ms);
  for (const ms of await idle()) expect(ms).toBeLessThan(100_000_000);
  expect(await idle()).toHaveLength(2);
  expect(Number.parseInt(String(await queue.inspector.send('HGET', processors, 'dead')), 10)).toBeLessThan(
    Date.now() + 1_000_000,
  );
});

// The result of the first item would have ended the second one, whose caller waits for another answer.
test('an id that is assigned a second time while its first item runs is another item', async () => {
  const { master, queue, outside, promoted, lag, failOver } = await withReplica();
  const gates = [new Gate(), new Gate()];
  const processor = queue.processor(
    { maxBatchSize: 1, concurrency: 2, leaseMs: 1_000_000 },
    async (items) => {
      await gates[Number(items[0]?.id) - 1]?.passed;
      return items.map(({ id }) => ({ id }));
    },
  );
  await processor.ready;
  // The clock of the master is ahead of that of the replica: ids go on from the last one at both.
  await master.cli('XSETID', queue.inspector.keys.requests[1], '99999999999999-1');
  await lag();
  const first = expect(queue.client().submit({ id: 1 })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await eventually('it to run', () => queue.executions.get(1) === 1);
  const second = promoted.client().submit({ id: 2 });
  await isQueued(promoted, 1);
  expect(await outside.inspector.outstanding()).toBe(1);
  failOver();
  await eventually('the second to run', () => queue.executions.get(2) === 1);
  gates[0]?.open();
  await first;
  await eventually('the first to have ended', () => processor.stats().running === 1);
  gates[1]?.open();
  expect(await second).toEqual({ id: 2 });
});
