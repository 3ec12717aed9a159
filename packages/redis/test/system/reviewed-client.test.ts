/** What clients once did wrong where several things met: shared items, shutdown, very many, a Redis that is away. */
import { BatchwiseError } from 'batchwise';
import { expect, test } from 'vitest';
import { shortOrLong } from '../../../../scripts/test-length.js';
import { TestQueue } from '../chaos/test-queue.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { freePort } from '../support/free-port.js';
import { startRedis } from '../support/redis-server.js';

const codeOf = (error: unknown) => (error instanceof BatchwiseError ? error.code : String(error));
const outcome = (answer: Promise<unknown>) => answer.then(() => 'answered', codeOf);

async function newQueue(): Promise<TestQueue> {
  const redis = await forThisTest(startRedis());
  return forThisTest(new TestQueue(redis.url));
}

// The deadline of the caller who came first travelled with the item, for all who shared it.
test('who shares an item is answered, though the deadline of the one who brought it has passed', async () => {
  const queue = await newQueue();
  const client = queue.client({ dedupeBy: ({ id }) => id });
  const first = outcome(client.submit({ id: 1 }, { timeoutMs: 100 }));
  const second = outcome(client.submit({ id: 1 }));
  expect(await first).toBe('DEADLINE_EXCEEDED');
  queue.processor();
  expect(await second).toBe('answered');
});

test('a shared item is taken out of the queue when the deadlines of all who shared it have passed', async () => {
  const queue = await newQueue();
  const client = queue.client({ dedupeBy: ({ id }) => id });
  const keeper = client.submit({ id: 2 }).catch(codeOf);
  const both = [50, 100].map((timeoutMs) => outcome(client.submit({ id: 1 }, { timeoutMs })));
  expect(await Promise.all(both)).toEqual(['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED']);
  await eventually('it to be gone', async () => (await queue.inspector.outstanding()) === 1);
  client.destroy();
  expect(await keeper).toBe('CLOSED');
});

// The outbox went on with what waited in it: the callers were refused, and their items queued nevertheless.
test.each(['destroy', 'close'] as const)(
  '%s leaves nothing in the queue of those it has refused',
  async (how) => {
    const redis = await forThisTest(startRedis());
    const queue = await forThisTest(new TestQueue(redis.url));
    const client = queue.client();
    await client.ready;
    redis.pause();
    const outcomes = Array.from({ length: 5000 }, (_, id) => outcome(client.submit({ id })));
    await new Promise((resolve) => setImmediate(resolve)); // the first are on their way
    if (how === 'destroy') client.destroy();
    const closed = client.close({ timeoutMs: 0 });
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(['CLOSED']));
    redis.resume();
    await closed;
    expect(await queue.inspector.outstanding()).toBe(0);
    expect((await queue.inspector.allKeys()).filter((key) => /client:|replies:/.test(key))).toEqual([]);
  },
);

// All ids went as arguments of one call, of which there can only be so many.
test('more can be cancelled at once than a function takes arguments', async () => {
  const queue = await newQueue();
  // The long version cancels more; the short one shows that they are cancelled in one go.
  const count = shortOrLong(20_000, 150_000);
  const client = queue.client({ maxBacklog: count, maxQueueSize: count });
  const abort = new AbortController();
  const outcomes = Array.from({ length: count }, (_, id) =>
    outcome(client.submit({ id }, { signal: abort.signal })),
  );
  await eventually('all to be queued', async () => (await queue.inspector.outstanding()) === count);
  abort.abort(new BatchwiseError('CANCELLED', 'enough'));
  await Promise.all(outcomes);
  await client.close();
  expect(await queue.inspector.outstanding()).toBe(0);
});

// Each cancellation put off the end of the key where a processor hears of it, and nothing else made it shorter.
test('what a processor is told of cancellations is dropped when it is too old to matter', async () => {
  const queue = await newQueue();
  const { inspector } = queue;
  const [, normal] = inspector.keys.requests;
  const gone = `${inspector.keys.gone}ghost`;
  await inspector.send('XGROUP', 'CREATE', normal, 'processors', '0', 'MKSTREAM');
  for (let i = 1; i <= 500; i += 1) await inspector.send('XADD', gone, `${i}-0`, 'gone', '2:1-1 ');
  const client = queue.client();
  const abort = new AbortController();
  const cancelled = outcome(client.submit({ id: 1 }, { signal: abort.signal }));
  await eventually('it to be queued', async () => (await inspector.outstanding()) === 1);
  await inspector.takeAsIfDead('ghost', 1);
  // The client may not know its place yet, and cancels it when it does.
  abort.abort();
  await cancelled;
  await eventually('it to be told', async () => {
    const [last] = (await inspector.send('XREVRANGE', gone, '+', '-', 'COUNT', '1')) as [[string]];
    return last[0] !== '500-0';
  });
  // Whole blocks of entries go, not each.
  expect(await inspector.send('XLEN', gone)).toBeLessThan(150);
});

// Those who had given up kept their places until Redis was back.
test('while Redis is away, those who have given up make room for others', async () => {
  const queue = await forThisTest(new TestQueue(`redis://127.0.0.1:${await freePort()}`));
  const client = queue.client({ maxQueueSize: 10 });
  // Taken up, and stuck.
  expect(await outcome(client.submit({ id: 0 }, { timeoutMs: 50 }))).toBe('UNAVAILABLE');
  const ten = Array.from({ length: 10 }, (_, id) => outcome(client.submit({ id }, { timeoutMs: 50 })));
  expect(new Set(await Promise.all(ten))).toEqual(new Set(['UNAVAILABLE']));
  const next = Array.from({ length: 11 }, (_, id) => outcome(client.submit({ id }, { timeoutMs: 50 })));
  const outcomes = await Promise.all(next);
  expect(outcomes.filter((one) => one === 'UNAVAILABLE')).toHaveLength(10);
  expect(outcomes.filter((one) => one === 'QUEUE_FULL')).toHaveLength(1);
});

// The time for a reply to a submission began before there was anyone to send it to.
test('a call waits for a Redis that is away as long as its deadline allows', async () => {
  const port = await freePort();
  const queue = await forThisTest(new TestQueue(`redis://127.0.0.1:${port}`));
  const client = queue.client({ clientTtlMs: 100 });
  // Its deadline is later than the end of the patience with a submission that was sent.
  const late = await outcome(client.submit({ id: 1 }, { timeoutMs: 500 }));
  expect(late).toBe('UNAVAILABLE');
  const patient = outcome(client.submit({ id: 2 }));
  await forThisTest(startRedis({ port }));
  queue.processor();
  expect(await patient).toBe('answered');
  expect([...queue.executions.keys()]).toEqual([2]);
});

// Written as 1e+21, of which a script read the 21.
test('a time-out too long to be counted is none', async () => {
  const queue = await newQueue();
  const client = queue.client();
  for (const id of [1, 2]) void client.submit({ id }).catch(() => {});
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 2);
  await queue.inspector.send('SET', queue.inspector.keys.rate, '1');
  const long = outcome(client.submit({ id: 3 }, { timeoutMs: Number.MAX_VALUE }));
  const queued = eventually('it to be queued', async () => (await queue.inspector.outstanding()) === 3);
  await Promise.race([queued, long]);
  client.destroy();
  expect(await long).toBe('CLOSED');
});

// All that was outstanding was taken to be ahead, below as well.
test('an urgent item is not refused for the sake of those that have to wait for it', async () => {
  const queue = await newQueue();
  const client = queue.client();
  const low = Array.from({ length: 100 }, (_, id) => outcome(client.submit({ id }, { priority: -1 })));
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 100);
  await queue.inspector.send('SET', queue.inspector.keys.rate, '1');
  const refused = await client
    .submit({ id: 100 }, { priority: -1, timeoutMs: 20_000 })
    .catch((error) => error);
  expect(refused.code).toBe('OVERLOADED');
  expect(refused.retryAfterMs).toBeGreaterThanOrEqual(80_000);
  const urgent = outcome(client.submit({ id: 101 }, { priority: 1, timeoutMs: 20_000 }));
  const queued = eventually('it to be queued', async () => (await queue.inspector.outstanding()) === 101);
  await Promise.race([queued, urgent]);
  client.destroy();
  expect(await urgent).toBe('CLOSED');
  expect(new Set(await Promise.all(low))).toEqual(new Set(['CLOSED']));
});

// Reading went on after the last id of a stream that was no more; a Redis whose clock is behind gives earlier ones.
test('a client that was given up reads its replies from the beginning', async () => {
  const queue = await newQueue();
  const { inspector } = queue;
  const client = queue.client();
  const replies = inspector.keys.replies + client.clientId;
  const answers = [client.submit({ id: 1 }), client.submit({ id: 2 })];
  await eventually('them to be queued', async () => (await inspector.outstanding()) === 2);
  // As if the clock had been ahead when it was answered.
  await inspector.send('XADD', replies, '99999999999999-1', 'a', '[[1,{"id":1}]]');
  expect(await answers[0]).toEqual({ id: 1 });
  await inspector.send('DEL', inspector.keys.clients + client.clientId, replies);
  answers.push(client.submit({ id: 3 }));
  await eventually('it to be known again', async () => (await inspector.outstanding()) === 3);
  queue.processor();
  expect(await Promise.all(answers)).toHaveLength(3);
});

// The submission went out beside the question whether this Redis will do.
test('nothing is queued in a Redis that will not do', async () => {
  const redis = await forThisTest(startRedis({ settings: ['maxmemory-policy allkeys-lru'] }));
  const queue = await forThisTest(new TestQueue(redis.url));
  const client = queue.client();
  expect(await outcome(client.submit({ id: 1 }))).toBe('INVALID_OPTION');
  expect(await queue.inspector.outstanding()).toBe(0);
  expect(await outcome(client.submit({ id: 2 }))).toBe('INVALID_OPTION');
});
