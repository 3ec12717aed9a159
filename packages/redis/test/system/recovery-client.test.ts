/** Clients when Redis has lost something, or its clock has gone back: every call is settled, and answers are seen. */
import { setTimeout } from 'node:timers/promises';
import { BatchwiseError, type Clock, realClock } from 'batchwise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadScript } from '../../src/connection/script.js';
import { GROUP } from '../../src/queue-keys.js';
import { Gate } from '../chaos/gate.js';
import { TestQueue } from '../chaos/test-queue.js';
import { eventually } from '../support/eventually.js';
import { behindProxy, withReplica } from '../support/failover.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const FUTURE = '99999999999999-1';

const isQueued = (queue: TestQueue, count: number) =>
  eventually(`${count} items in the queue`, async () => (await queue.inspector.outstanding()) === count);

const lost = expect.objectContaining({
  code: 'UNAVAILABLE',
  retryable: true,
  message: expect.stringContaining('has lost the item and its result'),
});

describe('items that Redis has lost', () => {
  // Root cause: only a client whose own key was gone looked for its items.
  test('after a failover to a replica that lagged behind, their calls fail, and all others are answered', async () => {
    const { queue, outside, promoted, lag, failOver } = await withReplica();
    const client = queue.client();
    const kept = [client.submit({ id: 1 }), client.submit({ id: 2 }, { priority: 1 })];
    await isQueued(outside, 2);
    await lag();
    // More than one script looks up.
    const ids = Array.from({ length: 1500 }, (_, i) => 10 + i);
    const gone = Promise.allSettled(ids.map((id) => client.submit({ id }, { priority: (id % 3) - 1 })));
    await isQueued(outside, 1502);
    failOver();
    for (const outcome of await gone) expect(outcome).toEqual({ status: 'rejected', reason: lost });
    promoted.processor();
    expect(await Promise.all(kept)).toEqual([{ id: 1 }, { id: 2 }]);
    expect(await client.submit({ id: 3 })).toEqual({ id: 3 });
    expect(promoted.executedAgain()).toEqual([]);
  });

  test('an id that is assigned a second time after a failover does not hide that its first item is lost', async () => {
    const { master, queue, outside, promoted, lag, failOver } = await withReplica();
    const [, normal] = outside.inspector.keys.requests;
    const client = queue.client();
    const kept = client.submit({ id: 1 });
    await isQueued(outside, 1);
    // The clock of the master is ahead of that of the replica: ids go on from the last one at both.
    await master.cli('XSETID', normal, FUTURE);
    await lag();
    const gone = client.submit({ id: 2 });
    const cancelled = new AbortController();
    const given = client.submit({ id: 3 }, { signal: cancelled.signal });
    await isQueued(outside, 3);
    const later = [4, 5].map((id) => promoted.client().submit({ id }));
    await isQueued(promoted, 3);
    failOver();
    await expect(gone).rejects.toEqual(lost);
    cancelled.abort();
    await expect(given).rejects.toBeInstanceOf(BatchwiseError);
    promoted.processor();
    expect(await Promise.all([kept, ...later])).toEqual([{ id: 1 }, { id: 4 }, { id: 5 }]);
  });

  test('a stream that is deleted while all are connected', async () => {
    const queue = await forThisTest(new TestQueue(redis.url));
    const client = queue.client({ clientTtlMs: 600 });
    const gone = [client.submit({ id: 1 }), client.submit({ id: 2 })];
    const kept = client.submit({ id: 3 }, { priority: 1 });
    await isQueued(queue, 3);
    await queue.inspector.send('DEL', queue.inspector.keys.requests[1]);
    for (const call of gone) await expect(call).rejects.toEqual(lost);
    queue.processor();
    expect(await kept).toEqual({ id: 3 });
  });

  test('a stream that is overwritten by a value of another type', async () => {
    const queue = await forThisTest(new TestQueue(redis.url));
    const client = queue.client({ clientTtlMs: 600 });
    const gone = client.submit({ id: 1 });
    const kept = client.submit({ id: 2 }, { priority: 1 });
    await isQueued(queue, 2);
    const [, normal] = queue.inspector.keys.requests;
    await queue.inspector.send('SET', normal, 'x');
    await expect(gone).rejects.toEqual(lost);
    await queue.inspector.send('DEL', normal);
    queue.processor();
    expect(await kept).toEqual({ id: 2 });
  });

  // Root cause: only entries that were gone from the stream counted. One that is neither pending nor still to be delivered
  // is executed by nobody.
  test.each([
    ['XACK', (id: string) => ['XACK', GROUP, id]],
    ['XGROUP DELCONSUMER', (_: string, consumer: string) => ['XGROUP', 'DELCONSUMER', GROUP, consumer]],
  ])('an item that is no longer pending, by %s of somebody else', async (_, command) => {
    const queue = await forThisTest(new TestQueue(redis.url));
    const client = queue.client({ clientTtlMs: 600 });
    const { consumer } = queue.processor({}, () => new Promise(() => {})).stats();
    const gone = client.submit({ id: 1 });
    await eventually('it to run', () => queue.executions.size === 1);
    const [, normal] = queue.inspector.keys.requests;
    const [[id]] = (await queue.inspector.send('XRANGE', normal, '-', '+')) as [[string]];
    const [name, ...rest] = command(id, consumer) as [string, ...string[]];
    const at = name === 'XACK' ? 0 : 1;
    await queue.inspector.send(name, ...rest.toSpliced(at, 0, normal));
    await expect(gone).rejects.toEqual(lost);
    // It does not stay in the backlog for ever.
    await isQueued(queue, 0);
  });

  test('items that the group has passed over, and no others', async () => {
    const queue = await forThisTest(new TestQueue(redis.url));
    const client = queue.client({ clientTtlMs: 600 });
    const [, normal] = queue.inspector.keys.requests;
    const gone = [client.submit({ id: 1 }), client.submit({ id: 2 })];
    await isQueued(queue, 2);
    await queue.inspector.send('XGROUP', 'CREATE', normal, GROUP, '$');
    const kept = client.submit({ id: 3 });
    for (const call of gone) await expect(call).rejects.toEqual(lost);
    await isQueued(queue, 1);
    queue.processor();
    expect(await kept).toEqual({ id: 3 });
  });

  test('an item that was answered while the client was cut off, and whose reply is gone', async () => {
    const { proxy, queue, outside } = await behindProxy(redis.port);
    const client = queue.client();
    const calls = [client.submit({ id: 1 }), client.submit({ id: 2 })];
    await isQueued(outside, 2);
    await proxy.refuse(true);
    proxy.cut();
    const processor = outside.processor();
    await isQueued(outside, 0);
    await processor.close();
    await outside.inspector.send('DEL', outside.inspector.keys.replies + client.clientId);
    await proxy.refuse(false);
    for (const call of calls) await expect(call).rejects.toEqual(lost);
  });
});

test('what was answered while the client was cut off is answered, and not said to be lost', async () => {
  const { proxy, queue, outside } = await behindProxy(redis.port);
  const load = queue.load();
  const processor = outside.processor({ maxBatchSize: 3 });
  for (let round = 1; round <= 5; round += 1) {
    const requests = Array.from({ length: 20 }, () => load.request());
    await eventually('one to be executed', () => outside.executions.size > 20 * (round - 1));
    await proxy.refuse(true);
    proxy.cut();
    await eventually('the others to be answered or not yet sent', () => processor.stats().held === 0);
    await proxy.refuse(false);
    await Promise.all(requests);
  }
  expect(queue.ledger.outcomes).toEqual({ answered: 100 });
  expect(outside.executedAgain()).toEqual([]);
});

// Root cause: the key of a client expires at once on a new master whose clock is ahead, and was not made again before the
// next heartbeat: answers to this client were dropped until then.
test('a client whose key has expired while it was cut off hears the answers that come after the reconnect', async () => {
  const { proxy, queue, outside } = await behindProxy(redis.port);
  const client = queue.client({ clientTtlMs: 3_600_000 });
  const gate = new Gate();
  outside.processor({ maxBatchSize: 1, concurrency: 2 }, async ([item]) => {
    if (item?.id === 1) await gate.passed;
    return [{ id: Number(item?.id) }];
  });
  const call = client.submit({ id: 1 });
  expect(await client.submit({ id: 2 })).toEqual({ id: 2 }); // then the first submission is confirmed
  await proxy.refuse(true);
  proxy.cut();
  const key = outside.inspector.keys.clients + client.clientId;
  await outside.inspector.send('DEL', key);
  await proxy.refuse(false);
  await eventually('the client to be known', async () => (await outside.inspector.send('EXISTS', key)) === 1);
  gate.open();
  expect(await call).toEqual({ id: 1 });
});

test('a submission that was cut off on its way is not said to be lost', async () => {
  const { proxy, queue, outside } = await behindProxy(redis.port);
  const client = queue.client();
  outside.processor();
  expect(await client.submit({ id: 1 })).toEqual({ id: 1 });
  for (const cut of ['cutBeforeWrite', 'cutAfterWrite'] as const) {
    const isCut = proxy[cut](loadScript('submit').sha1);
    const call = client.submit({ id: 2 });
    await isCut;
    expect(await call).toEqual({ id: 2 });
  }
});

describe('replies whose ids are lower than those that were read', () => {
  // Root cause: reading went on after the last id of the old master, and all replies below it were deleted.
  test('after a failover to a master whose clock is behind', async () => {
    const { queue, outside, promoted, lag, failOver } = await withReplica();
    const client = queue.client();
    const calls = [client.submit({ id: 1 }), client.submit({ id: 2 })];
    await isQueued(outside, 2);
    await lag();
    const replies = outside.inspector.keys.replies + client.clientId;
    await outside.inspector.send('XADD', replies, FUTURE, 'a', '[[1,{"id":1}]]', 't', 'of the old master');
    expect(await calls[0]).toEqual({ id: 1 });
    failOver();
    promoted.processor({ maxBatchSize: 4 });
    expect(await calls[1]).toEqual({ id: 2 });
    // What the old master had said is not taken for a reason to delete replies.
    for (let id = 3; id < 100; id += 4) {
      const ids = [id, id + 1, id + 2, id + 3];
      expect(await Promise.all(ids.map((one) => client.submit({ id: one })))).toEqual(
        ids.map((one) => ({ id: one })),
      );
    }
  });

  test('after the stream was deleted, while all are connected', async () => {
    const queue = await forThisTest(new TestQueue(redis.url));
    const client = queue.client();
    const calls = [client.submit({ id: 1 }), client.submit({ id: 2 })];
    await isQueued(queue, 2);
    const replies = queue.inspector.keys.replies + client.clientId;
    await queue.inspector.send('XADD', replies, FUTURE, 'a', '[[1,{"id":1}]]');
    expect(await calls[0]).toEqual({ id: 1 });
    await queue.inspector.send('DEL', replies);
    queue.processor();
    expect(await calls[1]).toEqual({ id: 2 });
  });
});

test('replies that were read are deleted, and only those', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const client = queue.client();
  queue.processor({ maxBatchSize: 1 });
  const replies = queue.inspector.keys.replies + client.clientId;
  for (let id = 1; id <= 200; id += 1) await client.submit({ id });
  expect(Number(await queue.inspector.send('XLEN', replies))).toBeLessThan(128);

  const trim = async (token: string) => {
    await queue.inspector.send('EVAL', loadScript('trim').source, '1', 'replies', '5-1', token, '5-2');
    return queue.inspector.send('XLEN', 'replies');
  };
  await queue.inspector.send('XADD', 'replies', '4-1', 'a', '[]', 't', 'first');
  await queue.inspector.send('XADD', 'replies', '5-1', 'a', '[]', 't', 'second');
  await queue.inspector.send('XADD', 'replies', '5-2', 'a', '[]', 't', 'third');
  expect(await trim('another')).toBe(3);
  expect(await trim('second')).toBe(1);
});

describe('a deadline that passes before the item is in Redis', () => {
  /** What scripts were called so far: a submission that arrives late is one. */
  const scriptCalls = async (queue: TestQueue) => {
    const stats = String(await queue.inspector.send('INFO', 'commandstats'));
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]);
  };

  const submitsLate = async (
    { queue, outside }: { queue: TestQueue; outside: TestQueue },
    hold: () => void | Promise<void>,
    release: () => void | Promise<void>,
  ) => {
    const client = queue.client();
    const processor = outside.processor();
    const startedAt = performance.now();
    expect(await client.submit({ id: 1 }, { timeoutMs: 60_000 })).toEqual({ id: 1 });
    // The client knows the time of Redis from its replies: it is off by less than they took.
    const clockErrorMs = performance.now() - startedAt;
    await processor.close();
    const { submitted, calls } = {
      submitted: await outside.inspector.submitted(),
      calls: await scriptCalls(outside),
    };
    await hold();
    await expect(client.submit({ id: 2 }, { timeoutMs: 50 })).rejects.toMatchObject({
      code: 'DEADLINE_EXCEEDED',
    });
    await setTimeout(clockErrorMs);
    await release();
    await eventually('the submission to arrive', async () => (await scriptCalls(outside)) > calls);
    expect(await outside.inspector.submitted()).toBe(submitted);
    outside.processor();
    // One of the same client, with time left, is let in.
    expect(await client.submit({ id: 3 }, { timeoutMs: 60_000 })).toEqual({ id: 3 });
    expect([...outside.executions.keys()]).toEqual([1, 3]);
  };

  // Root cause: the time-out began when the submission arrived.
  test('in a socket buffer', async () => {
    const { proxy, ...queues } = await behindProxy(redis.port);
    await submitsLate(
      queues,
      () => proxy.pause(),
      () => proxy.resume(),
    );
  });

  test('in a Redis that stands still', async () => {
    const own = await forThisTest(startRedis());
    const queue = await forThisTest(new TestQueue(own.url));
    await submitsLate(
      { queue, outside: queue },
      () => own.pause(),
      () => own.resume(),
    );
  });

  test('while the connection is away, after a first attempt', async () => {
    const { proxy, ...queues } = await behindProxy(redis.port);
    await submitsLate(
      queues,
      async () => {
        void proxy.cutBeforeWrite(loadScript('submit').sha1);
        await proxy.refuse(true);
      },
      () => proxy.refuse(false),
    );
  });

  // A machine that is suspended does not see the time pass: Redis' clock seems to have been put forward.
  test('only by what the client believes to be the time of Redis: the item is sent again', async () => {
    const queue = await forThisTest(new TestQueue(redis.url));
    let behindMs = 0;
    const clock: Clock = {
      now: () => realClock.now() - behindMs,
      setTimer: (callback, delayMs) => realClock.setTimer(callback, delayMs),
      clearTimer: (timer) => realClock.clearTimer(timer),
      defer: (callback) => realClock.defer(callback),
    };
    const client = queue.client({ clock });
    queue.processor();
    expect(await client.submit({ id: 1 }, { timeoutMs: 60_000 })).toEqual({ id: 1 });
    behindMs = 600_000;
    expect(await client.submit({ id: 2 }, { timeoutMs: 60_000 })).toEqual({ id: 2 });
    expect(queue.executions.get(2)).toBe(1);
  });
});
