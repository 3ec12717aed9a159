/** Deadlines and cancellation travel: what nobody waits for is not executed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { GROUP } from '../../src/queue-keys.js';
import { Gate } from '../chaos/gate.js';
import { type ChaosItem, Load } from '../chaos/load.js';
import { startProcessor, startWeb } from '../chaos/start-program.js';
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
const answers = (items: ChaosItem[]) => items.map(({ id }) => ({ id }));

/** By the clock of Redis, from now. */
async function passed(queue: TestQueue, ms: number): Promise<void> {
  const now = async () => {
    const [seconds, micros] = (await queue.inspector.send('TIME')) as [string, string];
    return Number(seconds) * 1000 + Number(micros) / 1000;
  };
  const from = await now();
  await eventually(`${ms} ms to have passed`, async () => (await now()) > from + ms);
}

test('what expired while there was no processor is not executed, though its client died and cancelled nothing', async () => {
  const queue = await newQueue();
  const web = await forThisTest(startWeb({ url: redis.url, queue: queue.queue }));
  const ids = Array.from({ length: 100 }, (_, i) => i + 1);
  web.child.send(ids.map((id) => ({ item: { id }, options: { timeoutMs: 3000 } })));
  web.child.send([{ item: { id: 1000 } }]);
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 101);
  await web.child.kill();
  await passed(queue, 3050);

  queue.processor({ maxBatchSize: 16 });
  await eventually('the queue to be empty', async () => (await queue.inspector.outstanding()) === 0);
  expect([...queue.executions.keys()]).toEqual([1000]);
});

// Root cause: time-outs counted from the id, and ids go on from the last one where the clock of Redis has gone back.
test('what expired is not executed when the clock of Redis has gone back', async () => {
  const queue = await newQueue();
  const [, normal] = queue.inspector.keys.requests;
  await queue.inspector.send('XADD', normal, '99999999999999-1', 'x', 'x');
  await queue.inspector.send('XTRIM', normal, 'MAXLEN', '0');
  const web = await forThisTest(startWeb({ url: redis.url, queue: queue.queue }));
  const timed = (ids: readonly number[], timeoutMs: number) =>
    ids.map((id) => ({ item: { id }, options: { timeoutMs } }));
  // The one without a time-out comes first, or last.
  web.child.send([...timed([1, 2, 3], 3000), { item: { id: 4 } }]);
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 4);
  web.child.send([{ item: { id: 5 } }, ...timed([6, 7], 3000), ...timed([8], 60_000)]);
  await eventually('all to be queued', async () => (await queue.inspector.outstanding()) === 8);
  // One of each kind was delivered to a processor that died.
  await queue.inspector.send('XGROUP', 'CREATE', normal, GROUP, '0');
  const dead = ['GROUP', GROUP, 'dead', 'COUNT', '4', 'STREAMS', normal, '>'];
  await queue.inspector.send('XREADGROUP', ...dead);
  await web.child.kill();
  await passed(queue, 3050);

  queue.processor({ maxBatchSize: 16, leaseMs: 1000 });
  await eventually('the queue to be empty', async () => (await queue.inspector.outstanding()) === 0);
  expect([...queue.executions.keys()].sort()).toEqual([4, 5, 8]);
});

test('what expired while its processor was frozen is not executed when that goes on', async () => {
  const queue = await newQueue();
  const processor = await forThisTest(
    startProcessor({ url: redis.url, queue: queue.queue, leaseMs: 60_000, maxBatchSize: 4 }),
  );
  const load = queue.load();
  await load.request();
  // It answers first and reads on after that.
  await eventually('it to read', async () => (await queue.inspector.waitingReads()) === 1);
  processor.child.stop();
  const requests = Array.from({ length: 20 }, () => load.request({ timeoutMs: 1000 }));
  await Promise.all(requests);
  // Some were on their way to it.
  expect(await queue.inspector.delivered()).toBeGreaterThan(1);
  processor.child.cont();
  await load.request();
  expect(queue.ledger.outcomes).toEqual({ answered: 2, DEADLINE_EXCEEDED: 20 });
  expect(queue.ledger.audit()).toEqual([]);
  expect(processor.said<{ event: 'ran'; ids: number[] }>('ran').flatMap(({ ids }) => ids)).toHaveLength(2);
});

test('what expires behind a batch that runs is not executed', async () => {
  const queue = await newQueue();
  const gate = new Gate();
  queue.processor({ maxBatchSize: 1 }, async (items) => {
    await gate.passed;
    return answers(items);
  });
  const load = queue.load();
  const first = load.request();
  await eventually('it to be running', () => queue.executions.size === 1);
  await Promise.all(Array.from({ length: 10 }, () => load.request({ timeoutMs: 50 })));
  gate.open();
  await first;
  await load.request();
  expect(queue.ledger.outcomes).toEqual({ answered: 2, DEADLINE_EXCEEDED: 10 });
  expect(queue.executions.size).toBe(2);
  expect(await queue.inspector.outstanding()).toBe(0);
});

// Items wake the fetcher when they end; the end of a batch that has none left woke nobody.
test.each(['deadline', 'cancellation'] as const)(
  'a processor goes on after a batch that nobody waited for in the end (%s)',
  async (why) => {
    const queue = await newQueue();
    const gate = new Gate();
    const processor = queue.processor({}, async (items) => {
      await gate.passed;
      return answers(items);
    });
    await processor.ready;
    const load = queue.load();
    const cancel = new AbortController();
    const request = load.request(why === 'deadline' ? { timeoutMs: 3000 } : { signal: cancel.signal });
    await eventually('it to be running', () => queue.executions.size === 1);
    cancel.abort();
    await request;
    await eventually('the processor to know', () => {
      const { expired, cancelled } = processor.stats();
      return expired + cancelled === 1;
    });
    gate.open();
    await load.request();
    const settled = why === 'deadline' ? 'DEADLINE_EXCEEDED' : 'CANCELLED';
    expect(queue.ledger.outcomes).toEqual({ [settled]: 1, answered: 1 });
    await eventually('the queue to be empty', async () => (await queue.inspector.outstanding()) === 0);
  },
);

test('a processor goes on after a batch that nobody waited for, and that never ended', async () => {
  const queue = await newQueue();
  let isStuck = true;
  const processor = queue.processor({ handlerTimeoutMs: 4000, leaseMs: 400 }, (items) =>
    isStuck ? new Promise<never>(() => {}) : answers(items),
  );
  await processor.ready;
  const load = queue.load();
  const request = load.request({ timeoutMs: 3000 });
  await eventually('it to be running', () => queue.executions.size === 1);
  await request;
  await eventually('the processor to know', () => {
    const { expired, cancelled, failed } = processor.stats();
    return expired + cancelled + failed === 1;
  });
  isStuck = false;
  await load.request();
  expect(queue.ledger.outcomes).toEqual({ DEADLINE_EXCEEDED: 1, answered: 1 });
});

test.each([
  ['web ahead', 60_000, -60_000],
  ['web behind', -60_000, 60_000],
])(
  'clocks that are two minutes apart change nothing, deadlines included (%s)',
  async (_, webSkew, processorSkew) => {
    const queue = await newQueue();
    const { url } = redis;
    const [web, processor] = await Promise.all([
      forThisTest(startWeb({ url, queue: queue.queue, skewMs: webSkew })),
      forThisTest(startProcessor({ url, queue: queue.queue, skewMs: processorSkew, leaseMs: 60_000 })),
    ]);
    interface Settled {
      readonly event: 'settled';
      readonly id: number;
      readonly outcome: string;
      readonly result: { readonly now: number };
      readonly now: number;
    }
    const settled = () => web.said<Settled>('settled');
    const ids = Array.from({ length: 50 }, (__, i) => i + 1);
    web.child.send(ids.map((id) => ({ item: { id }, options: { timeoutMs: 30_000 } })));
    await eventually('all to be settled', () => settled().length === 50);
    expect(settled().map(({ outcome }) => outcome)).toEqual(ids.map(() => 'answered'));
    // They are apart indeed.
    const [{ now, result }] = settled() as [Settled];
    expect(Math.abs(now - result.now)).toBeGreaterThan(100_000);

    // And what has expired has expired: nobody cancels here, as both stand still.
    processor.child.stop();
    web.child.send([{ item: { id: 51 }, options: { timeoutMs: 200 } }]);
    await eventually('it to have been queued', async () => (await queue.inspector.submitted()) === 51);
    web.child.stop();
    await passed(queue, 250);
    processor.child.cont();
    await eventually('it to be ended', async () => (await queue.inspector.outstanding()) === 0);
    web.child.cont();
    await eventually('it to be settled', () => settled().length === 51);
    expect(settled()[50]?.outcome).toBe('DEADLINE_EXCEEDED');
    expect(
      processor.said<{ event: 'ran'; ids: number[] }>('ran').flatMap(({ ids: ran }) => ran),
    ).not.toContain(51);
  },
);

test('a cancelled item that is queued is taken out, and not executed', async () => {
  const queue = await newQueue();
  const load = queue.load();
  const cancel = new AbortController();
  const kept = load.request();
  const cancelled = [
    load.request({ signal: cancel.signal }),
    load.request({ signal: cancel.signal, priority: 1 }),
  ];
  await eventually('them to be queued', async () => (await queue.inspector.outstanding()) === 3);
  cancel.abort();
  await Promise.all(cancelled);
  await eventually('them to be taken out', async () => (await queue.inspector.outstanding()) === 1);
  queue.processor();
  await kept;
  expect(queue.ledger.outcomes).toEqual({ CANCELLED: 2, answered: 1 });
  expect(queue.executions.size).toBe(1);
});

test('an item that is cancelled before it is known to be in the queue is taken out as well', async () => {
  const queue = await newQueue();
  const client = queue.client();
  await client.ready;
  const load = new Load(client, queue.ledger);
  const cancel = new AbortController();
  redis.pause();
  const cancelled = load.request({ signal: cancel.signal });
  try {
    await eventually('it to be on its way, with no reply', () => client.stats().running === 1);
    cancel.abort();
    await cancelled;
  } finally {
    redis.resume();
  }
  const kept = load.request();
  await eventually('the other to be queued alone', async () => (await queue.inspector.outstanding()) === 1);
  queue.processor();
  await kept;
  expect(queue.ledger.outcomes).toEqual({ CANCELLED: 1, answered: 1 });
  expect(queue.executions.size).toBe(1);
});

test('the signal of a batch that runs fires when all of its callers have gone, and not before', async () => {
  const queue = await newQueue();
  const gate = new Gate();
  const signals: AbortSignal[] = [];
  const processor = queue.processor({ maxBatchSize: 2 }, async (items, { signal }) => {
    signals.push(signal);
    await gate.passed;
    return answers(items);
  });
  const load = queue.load();
  const cancels = [new AbortController(), new AbortController()] as const;
  const requests = cancels.map(({ signal }) => load.request({ signal }));
  await eventually('them to be queued or running', () => queue.executions.size > 0);
  if (queue.executions.size === 1) {
    // They came one by one: the first is a batch of its own.
    cancels[0].abort();
    await eventually('the signal to fire', () => signals[0]?.aborted);
    await eventually('the second to run', () => queue.executions.size === 2);
  } else {
    cancels[0].abort();
    await requests[0];
    await eventually('the processor to hear of it', () => processor.stats().running === 1);
    expect(signals[0]?.aborted).toBe(false);
  }
  cancels[1].abort();
  await eventually('the signal to fire', () => signals.at(-1)?.aborted);
  await Promise.all(requests);
  gate.open();
  expect(queue.ledger.outcomes).toEqual({ CANCELLED: 2 });
  await eventually('nothing to be left', async () => (await queue.inspector.pending()) === 0);
});
