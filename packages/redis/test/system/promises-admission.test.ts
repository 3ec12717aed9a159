/** Who is let in, and what those hear who are not. */
import { BatchwiseError } from 'batchwise';
import { expect, test } from 'vitest';
import { Gate } from '../chaos/gate.js';
import { TestQueue } from '../chaos/test-queue.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { HurriedClock } from '../support/hurried-clock.js';
import { startRedis } from '../support/redis-server.js';

test('with no processor there, as many are accepted as maxBacklog says, of all clients together, and all of them are answered once there is one', async () => {
  const redis = await forThisTest(startRedis());
  const queue = await forThisTest(new TestQueue(redis.url));
  const maxBacklog = 700;
  const refusals: BatchwiseError[] = [];
  const answers: Promise<unknown>[] = [];
  const clients = [1, 2, 3].map(() => queue.client({ maxBacklog }));
  for (let id = 1; id <= 2000; id += 1) {
    queue.ledger.submitted(id);
    const answer = (clients[id % 3] as (typeof clients)[number]).submit({ id }).then(
      (result) => queue.ledger.settled(id, result.id === id ? 'answered' : 'mixed up'),
      (error: BatchwiseError) => {
        refusals.push(error);
        queue.ledger.settled(id, error.code);
      },
    );
    answers.push(answer);
  }
  await eventually('all others to be refused', () => refusals.length >= 1300);
  expect(await queue.inspector.outstanding()).toBe(maxBacklog);
  expect(queue.ledger.outcomes).toEqual({ QUEUE_FULL: 1300 });
  for (const error of refusals) {
    expect(error).toBeInstanceOf(BatchwiseError);
    expect(error.retryAfterMs).toBeGreaterThan(0);
    expect(error.httpStatus).toBe(429);
  }

  queue.processor();
  await Promise.all(answers);
  expect(queue.ledger.outcomes).toEqual({ QUEUE_FULL: 1300, answered: maxBacklog });
  expect(queue.ledger.audit()).toEqual([]);
  expect(queue.executions.size).toBe(maxBacklog);
  expect(queue.executedAgain()).toEqual([]);
  expect(await queue.inspector.outstanding()).toBe(0);
});

test('what runs counts: it has a place until it is answered', async () => {
  const redis = await forThisTest(startRedis());
  const queue = await forThisTest(new TestQueue(redis.url));
  const gate = new Gate();
  queue.processor({}, async (items) => {
    await gate.passed;
    return items.map(({ id }) => ({ id }));
  });
  const load = queue.load({ maxBacklog: 2 });
  const first = load.request();
  await eventually('it to be running', () => queue.executions.size === 1);
  const second = load.request();
  await eventually('it to be queued', async () => (await queue.inspector.outstanding()) === 2);
  await load.request();
  expect(queue.ledger.outcomes).toEqual({ QUEUE_FULL: 1 });
  gate.open();
  await Promise.all([first, second]);
  await load.request();
  expect(queue.ledger.outcomes).toEqual({ QUEUE_FULL: 1, answered: 3 });
});

test('a refusal says when to come back, by the rate that processors publish', async () => {
  const redis = await forThisTest(startRedis());
  const queue = await forThisTest(new TestQueue(redis.url));
  const client = queue.client({ maxBacklog: 1 });
  void client.submit({ id: 1 }).catch(() => {});
  await eventually('it to be queued', async () => (await queue.inspector.outstanding()) === 1);
  await queue.inspector.send('SET', queue.inspector.keys.rate, '2');
  const refused = await Promise.all([2, 3, 4].map((id) => client.submit({ id }).catch((error) => error)));
  expect(refused.map(({ code, retryAfterMs }) => [code, retryAfterMs])).toEqual([
    ['QUEUE_FULL', 500],
    ['QUEUE_FULL', 1000],
    ['QUEUE_FULL', 1500],
  ]);
});

test('an item that cannot be answered in time at the rate of the processors is refused at once', async () => {
  const redis = await forThisTest(startRedis());
  const queue = await forThisTest(new TestQueue(redis.url));
  const client = queue.client();
  const waiting = [1, 2, 3, 4].map((id) => client.submit({ id }).catch(() => {}));
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 4);
  await queue.inspector.send('SET', queue.inspector.keys.rate, '0.02');
  const refusal = await client.submit({ id: 5 }, { timeoutMs: 100_000 }).catch((error) => error);
  expect(refusal.code).toBe('OVERLOADED');
  // Four at one in fifty seconds, less the hundred seconds that it would have waited at most.
  expect(refusal.retryAfterMs).toBeGreaterThanOrEqual(100_000);
  expect(refusal.retryAfterMs).toBeLessThanOrEqual(200_000);
  expect(await queue.inspector.outstanding()).toBe(4);
  client.destroy();
  await Promise.all(waiting);
});

// The client's own batcher took the time that an item had waited for a processor for what items take.
test('a client that had to wait long for a processor sends on what has a deadline, once there is one', async () => {
  const redis = await forThisTest(startRedis());
  const queue = await forThisTest(new TestQueue(redis.url));
  const clock = new HurriedClock();
  const load = queue.load({ clock });
  const processor = queue.processor();
  // More than once: of a first batch alone a batcher concludes nothing.
  for (let wait = 1; wait <= 10; wait += 1) {
    await processor.pause();
    const waiting = load.request();
    await eventually('it to be queued', async () => (await queue.inspector.outstanding()) === 1);
    clock.hurry(9000);
    processor.resume();
    await waiting;
  }
  for (let i = 0; i < 20; i += 1) await load.request({ timeoutMs: 6000 });
  expect(queue.ledger.outcomes).toEqual({ answered: 30 });
});

// A client that had read replies trimmed them first, and Redis does not refuse a script after its first write.
test('a Redis without memory refuses what is new, answers what it has, and takes on again when there is some', async () => {
  const redis = await forThisTest(startRedis());
  const queue = await forThisTest(new TestQueue(redis.url));
  const load = queue.load();
  const first = queue.processor();
  await load.request();
  await first.close();
  const accepted = [load.request(), load.request()];
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 2);

  await queue.inspector.send('CONFIG', 'SET', 'maxmemory', '1');
  for (let i = 0; i < 3; i += 1) await load.request();
  expect(queue.ledger.outcomes).toEqual({ answered: 1, UNAVAILABLE: 3 });
  expect(await queue.inspector.outstanding()).toBe(2);

  await queue.inspector.send('CONFIG', 'SET', 'maxmemory', '0');
  const processor = queue.processor();
  await processor.ready;
  await Promise.all(accepted);
  await load.request();
  expect(queue.ledger.outcomes).toEqual({ answered: 4, UNAVAILABLE: 3 });
  expect(queue.ledger.audit()).toEqual([]);
});

test('what runs while Redis runs out of memory is answered', async () => {
  const redis = await forThisTest(startRedis());
  const queue = await forThisTest(new TestQueue(redis.url));
  const gate = new Gate();
  queue.processor({}, async (items) => {
    await gate.passed;
    return items.map(({ id }) => ({ id }));
  });
  const load = queue.load();
  const request = load.request();
  await eventually('it to be running', () => queue.executions.size === 1);
  await queue.inspector.send('CONFIG', 'SET', 'maxmemory', '1');
  gate.open();
  await request;
  expect(queue.ledger.outcomes).toEqual({ answered: 1 });
});
