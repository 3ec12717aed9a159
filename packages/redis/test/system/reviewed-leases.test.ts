/** Faults of leases, and of entries that are nobody's, each with its cause: found by a review, and gone since. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ProcessorNotice } from '../../src/processor-report.js';
import { RedisQueue } from '../../src/redis-queue.js';
import { TestQueue } from '../chaos/test-queue.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

/** Somebody has taken so many items, so often, and is never heard of again: for longer than any lease, if not said otherwise. */
async function takenByTheDead(queue: TestQueue, count: number, deliveries = 1, idle = '100000000') {
  const [, normal] = queue.inspector.keys.requests;
  await queue.inspector.send('XGROUP', 'CREATE', normal, 'processors', '0', 'MKSTREAM');
  const load = queue.load();
  for (let i = 0; i < count; i += 1) void load.request();
  await eventually('the items to be there', async () => (await queue.inspector.outstanding()) === count);
  await queue.inspector.takeAsIfDead('dead', count);
  const entries = (await queue.inspector.send('XRANGE', normal, '-', '+')) as [string][];
  for (const [id] of entries) {
    const long = ['IDLE', idle, 'RETRYCOUNT', String(deliveries), 'JUSTID'];
    await queue.inspector.send('XCLAIM', normal, 'processors', 'dead', '0', id, ...long);
  }
}

const isAnswered = (queue: TestQueue, count: number) => () => queue.ledger.outcomes.answered === count;

// The next take-over waited until all of the last one had settled, which one that hangs never does.
test('an item that was taken over and hangs does not end the take-overs', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  await takenByTheDead(queue, 2, 2); // under suspicion: they are taken over one by one
  let isFirst = true;
  queue.processor({ leaseMs: 200, concurrency: 2, maxDeliveries: 10 }, (items) => {
    if (!isFirst) return items.map(({ id }) => ({ id }));
    isFirst = false;
    return new Promise(() => {});
  });
  await eventually('the second to be answered', isAnswered(queue, 1));
});

// An answer and a sign of life that followed it were under way together: what had just been answered was told to be lost.
test('items whose answers were taken are never said to have been taken over', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const notices: ProcessorNotice[] = [];
  const processor = queue.processor({ leaseMs: 100, maxBatchSize: 16 });
  processor.onNotice((notice) => notices.push(notice));
  await queue.load().run(8000, 64);
  expect(queue.ledger.outcomes).toEqual({ answered: 8000 });
  expect(notices.filter(({ event }) => event === 'fenced')).toEqual([]);
  expect(processor.stats().fenced).toBe(0);
});

// What took over while one hung had no slot to run it: the items would have been kept from those who have.
test('a processor whose only slot is taken by an item that hangs leaves the others to others', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  await takenByTheDead(queue, 3, 2);
  const stuck = queue.processor({ leaseMs: 200, maxDeliveries: 10 }, () => new Promise(() => {}));
  await eventually('one to hang', () => queue.executions.size === 1);
  // Two leases later at the earliest.
  const { beats } = countBeats(queue, stuck.consumer);
  await eventually('it to have beaten', async () => (await beats()) >= 10);
  expect(stuck.stats().takenOver).toBe(1);
  queue.processor({ leaseMs: 200, maxDeliveries: 10 });
  await eventually('the others to be answered', isAnswered(queue, 2));
});

/** How often a processor was seen to say anew that it is alive. */
function countBeats(queue: TestQueue, consumer: string): { beats(): Promise<number> } {
  const seen = new Set<string>();
  return {
    async beats() {
      const said = await queue.inspector.send('HGET', queue.inspector.keys.processors, consumer);
      seen.add(String(said).split(' ', 1)[0] ?? '');
      return seen.size;
    },
  };
}

// Redis takes whole milliseconds only, and refused what was a fraction: heartbeats, and submissions.
test('a lease and a time to live of fractions of a millisecond work', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const notices: ProcessorNotice[] = [];
  const processor = queue.processor({ leaseMs: 400.25 });
  processor.onNotice((notice) => notices.push(notice));
  expect(await queue.client({ clientTtlMs: 1000.5 }).submit({ id: 7 })).toEqual({ id: 7 });
  const { beats } = countBeats(queue, processor.consumer);
  await eventually('it to have beaten', async () => (await beats()) >= 2);
  expect(notices.filter(({ event }) => event === 'failed')).toEqual([]);
});

// The sign of life of a processor that holds nothing was refused, and the take-over after it left out.
test('when the memory of Redis is full, items of a dead processor are taken over, and processors are listed', async () => {
  const full = await forThisTest(startRedis());
  const queue = await forThisTest(new TestQueue(full.url));
  await takenByTheDead(queue, 2, 1, '0');
  const notices: ProcessorNotice[] = [];
  const processor = queue.processor({ leaseMs: 1000 });
  processor.onNotice((notice) => notices.push(notice));
  await processor.ready;
  await full.cli('CONFIG', 'SET', 'maxmemory', '1');
  await queue.inspector.letLapse('dead');
  await eventually('both to be answered', isAnswered(queue, 2));
  const { beats } = countBeats(queue, processor.consumer);
  await eventually('it to have beaten', async () => (await beats()) >= 3);
  expect(notices.filter(({ event }) => event === 'failed')).toEqual([]);
});

// Any error of the heartbeat left out the take-over after it.
test('items are taken over also while the sign of life is refused', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  await takenByTheDead(queue, 2);
  const { processors } = queue.inspector.keys;
  await queue.inspector.send('DEL', processors);
  await queue.inspector.send('SET', processors, 'of another kind');
  const notices: ProcessorNotice[] = [];
  queue.processor({ leaseMs: 400 }).onNotice((notice) => notices.push(notice));
  await eventually('both to be answered', isAnswered(queue, 2));
  expect(notices).toContainEqual({ event: 'failed', error: expect.objectContaining({ name: 'ReplyError' }) });
});

// Its answer went as [NaN,…] to the client, which could read none of that payload and failed all that it awaited.
test.each(['json', 'msgpack'] as const)('a request of %s with no number fails nobody', async (payload) => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const client = queue.client({ payload });
  queue.processor({ payload });
  await client.submit({ id: 1 });
  const prefix = queue.inspector.keys.clients;
  const key = (await queue.inspector.allKeys()).find((name) => name.startsWith(prefix));
  const id = String(key).slice(prefix.length);
  const [high, normal] = queue.inspector.keys.requests;
  await queue.inspector.send('XADD', high, '*', `${id} many 0`, '{"id":2}');
  await queue.inspector.send('XADD', normal, '*', `${id} 1.5 0`, '{"id":3}');
  await queue.inspector.send('XADD', queue.inspector.keys.replies + id, '*', 'a', '[[NaN,1]]');
  await queue.inspector.send('XADD', queue.inspector.keys.replies + id, '*', 'a', '{}');
  await Promise.all([4, 5, 6].map(async (n) => expect(await client.submit({ id: n })).toEqual({ id: n })));
});

// What a pattern did not find in it was calculated with, which failed each processor's heartbeat from then on.
test('what no processor has said of itself does not fail the heartbeat, and is deleted', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const { processors } = queue.inspector.keys;
  const nonsense = ['nothing', '', '1 2', '99999999999999 many {}'].flatMap((text, i) => [`n${i}`, text]);
  await queue.inspector.send('HSET', processors, ...nonsense);
  const notices: ProcessorNotice[] = [];
  const processor = queue.processor({ leaseMs: 400 });
  processor.onNotice((notice) => notices.push(notice));
  await processor.ready;
  await eventually(
    'only what has the form of a sign of life to be left',
    async () =>
      String(((await queue.inspector.send('HKEYS', processors)) as string[]).sort()) ===
      String([processor.consumer, 'n3'].sort()),
  );
  expect(notices.filter(({ event }) => event === 'failed')).toEqual([]);
});

// There is no stream for the level that it does not name: the script failed on it, and those behind it stayed dead.
test('a dead letter that names no level, or none that there is, is retried as a normal one', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const { dead, requests } = queue.inspector.keys;
  await queue.inspector.send('XADD', dead, '*', 'json-nobody 1 0', '1');
  await queue.inspector.send('XADD', dead, '*', 'json-nobody 2 0', '2', 'level', '4');
  await queue.inspector.send('XADD', dead, '*', 'json-nobody 3 0', '3', 'level', '3');
  const operator = await forThisTest(new RedisQueue({ url: redis.url, queue: queue.queue }));
  expect(await operator.retry('all')).toEqual({ count: 3, missing: [] });
  expect(await queue.inspector.send('XLEN', requests[1])).toBe(2);
  expect(await queue.inspector.send('XLEN', requests[2])).toBe(1);
});

// Each processor summed up all of them at each of its beats.
test('all processors are looked at by one of them, and again when a part of the lease has passed', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const { processors, rate } = queue.inspector.keys;
  await queue.processor({ leaseMs: 1_000_000 }).ready;
  expect(await queue.inspector.send('GET', rate)).toBe('0');
  const later = '99999999999999 5.000 {}';
  await queue.inspector.send('HSET', processors, 'fast', later);
  await queue.processor({ leaseMs: 1_000_000 }).ready;
  expect(await queue.inspector.send('GET', rate)).toBe('0');
  await queue.inspector.send('PEXPIRE', rate, '1700000');
  await queue.processor({ leaseMs: 1_000_000 }).ready;
  expect(await queue.inspector.send('GET', rate)).toBe('5');
});
