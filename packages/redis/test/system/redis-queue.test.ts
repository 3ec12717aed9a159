/** A queue as its operators see it, on a real Redis. */
import { BatchwiseError } from 'batchwise';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { RedisBatcher } from '../../src/redis-batcher.js';
import { RedisProcessor } from '../../src/redis-processor.js';
import { RedisQueue } from '../../src/redis-queue.js';
import { bury } from '../support/bury.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { freePort } from '../support/free-port.js';
import { startCluster } from '../support/redis-cluster.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
let number = 0;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis.stop());

/** Each test has a queue of its own. */
function names(): { queue: string; url: string } {
  number += 1;
  return { queue: `queue-${number}`, url: redis.url };
}

const keysOf = async (queue: string) => (await redis.cli('KEYS', `*{${queue}}*`)).split('\n').filter(Boolean);

function gate(): { opened: Promise<void>; open(): void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

test('looking at a queue that does not exist shows nothing, and creates nothing', async () => {
  const { queue, url } = names();
  const operator = await forThisTest(new RedisQueue({ url, queue }));
  const nothing = { depth: 0, waiting: 0, pending: 0, lagMs: 0, oldestAgeMs: 0 };

  expect(await operator.status()).toEqual({
    ...{ queue, ...nothing, redelivered: 0, died: 0, deadLetters: 0, ratePerSecond: 0, processors: [] },
    perLevel: { high: nothing, normal: nothing, low: nothing },
  });
  expect(await operator.deadLetters()).toEqual([]);
  expect(await operator.retry('all')).toEqual({ count: 0, missing: [] });
  expect(await operator.drop(['1-0'])).toEqual({ count: 0, missing: ['1-0'] });
  expect(await keysOf(queue)).toEqual([]);
});

test('what waits before any processor was there is seen, by level', async () => {
  const { queue, url } = names();
  const operator = await forThisTest(new RedisQueue({ url, queue }));
  const batcher = new RedisBatcher<number, number>({ url, queue });
  onTestFinished(() => batcher.destroy());
  for (const priority of [1, 0, 0, -1]) batcher.submit(1, { priority }).catch(() => {});

  const status = await eventually('four items', async () => {
    const seen = await operator.status();
    return seen.depth === 4 && seen.oldestAgeMs > 0 ? seen : undefined;
  });
  expect(status).toMatchObject({ waiting: 4, pending: 0, processors: [], ratePerSecond: 0 });
  expect(status.perLevel).toMatchObject({ high: { depth: 1 }, normal: { waiting: 2 }, low: { depth: 1 } });
  expect(status.lagMs).toBe(status.oldestAgeMs);
});

test('what runs, what waits behind it and who runs it is seen', async () => {
  const { queue, url } = names();
  const operator = await forThisTest(new RedisQueue({ url, queue }));
  const { opened, open } = gate();
  const handler = async (items: number[]) => {
    await opened;
    return items;
  };
  await forThisTest(new RedisProcessor(handler, { url, queue, maxBatchSize: 2, leaseMs: 200 }));
  const batcher = await forThisTest(new RedisBatcher<number, number>({ url, queue }));
  onTestFinished(open); // before they are closed, who wait for it
  const answers = Promise.all([1, 2, 3, 4, 5].map((item) => batcher.submit(item)));

  const busy = await eventually('a batch that runs, as its processor says', async () => {
    const seen = await operator.status();
    return seen.depth === 5 && seen.processors[0]?.running === 2 ? seen : undefined;
  });
  expect(busy.waiting + busy.pending).toBe(5);
  expect(busy.pending).toBeGreaterThanOrEqual(2);
  expect(busy.processors).toEqual([
    {
      id: expect.stringContaining(`${process.pid}-`),
      host: expect.any(String),
      pid: process.pid,
      isPaused: false,
      ratePerSecond: 0,
      running: 2,
      queued: expect.any(Number),
      maxBatchSize: 2,
      seenMsAgo: expect.any(Number),
      leaseMs: 200,
    },
  ]);

  open();
  await answers;
  // The sum is not made anew at each of its beats.
  const idle = await eventually('a rate, its own and that of all', async () => {
    const seen = await operator.status();
    const own = seen.processors[0]?.ratePerSecond ?? 0;
    return own > 0 && Math.abs(own - seen.ratePerSecond) < 0.01 ? seen : undefined;
  });
  expect(idle).toMatchObject({ depth: 0, waiting: 0, pending: 0, lagMs: 0, oldestAgeMs: 0 });
});

test('an item that is cancelled while it runs is no longer counted, though its processor still holds it', async () => {
  const { queue, url } = names();
  const operator = await forThisTest(new RedisQueue({ url, queue }));
  const stream = `batchwise:{${queue}}:requests:normal`;
  await redis.cli('XADD', stream, '1-0', 'json-x 1 0', '1');
  await redis.cli('XADD', stream, '2-0', 'json-x 2 0', '2');
  await redis.cli('XGROUP', 'CREATE', stream, 'processors', '0');
  await redis.cli('XREADGROUP', 'GROUP', 'processors', 'p', 'COUNT', 1, 'STREAMS', stream, '>');
  expect(await operator.status()).toMatchObject({ depth: 2, waiting: 1, pending: 1 });
  await redis.cli('XDEL', stream, '1-0');
  expect(await operator.status()).toMatchObject({ depth: 1, waiting: 1, pending: 0 });
});

test('a dead letter tells all there is to know of it', async () => {
  const { queue, url } = names();
  const operator = await forThisTest(new RedisQueue({ url, queue }));
  const [error] = await bury(redis, queue, [{ poison: [1, 2] }], { priority: 1 });

  const letters = await operator.deadLetters();
  expect(letters).toEqual([
    {
      id: expect.stringMatching(/^\d+-\d+$/),
      diedAt: expect.any(Date),
      submittedAt: expect.any(Date),
      deliveries: 1,
      priority: 'high',
      client: expect.stringMatching(/^json-/),
      number: expect.any(Number),
      originalId: expect.stringMatching(/^\d+-\d+$/),
      payload: { poison: [1, 2] },
    },
  ]);
  expect(error?.message).toContain(letters[0]?.id);
  expect(letters[0]?.diedAt.getTime()).toBeGreaterThan(letters[0]?.submittedAt.getTime() ?? Infinity);
  expect(await operator.status()).toMatchObject({ died: 1, deadLetters: 1, depth: 0 });
});

test('payloads are told as they were sent: MessagePack as the value, bytes as bytes, what cannot be read as bytes', async () => {
  const packed = names();
  await bury(redis, packed.queue, [{ at: 7 }], { payload: 'msgpack' });
  const raw = names();
  await bury(redis, raw.queue, [Buffer.from([0, 255])], { payload: 'bytes' });
  const broken = names();
  await redis.cli(
    ...['XADD', `batchwise:{${broken.queue}}:dead`, '5-0', 'json-x 1 0', '{"a'],
    ...['level', '2', 'id', '4-0', 'deliveries', '3'],
  );
  const payloadIn = async (options: { queue: string; url: string }) => {
    const operator = await forThisTest(new RedisQueue(options));
    return (await operator.deadLetters())[0]?.payload;
  };

  expect(await payloadIn(packed)).toEqual({ at: 7 });
  expect(await payloadIn(raw)).toEqual(Buffer.from([0, 255]));
  expect(await payloadIn(broken)).toEqual(Buffer.from('{"a'));
});

test('letters are listed by the page', async () => {
  const { queue, url } = names();
  const operator = await forThisTest(new RedisQueue({ url, queue }));
  await bury(redis, queue, ['a', 'b', 'c']);
  const first = await operator.deadLetters({ count: 2 });
  const rest = await operator.deadLetters({ after: first.at(-1)?.id });

  expect([first.length, rest.length]).toEqual([2, 1]);
  expect([...first, ...rest].map(({ payload }) => payload).sort()).toEqual(['a', 'b', 'c']);
});

test('a letter that is retried runs once more, in its level and without a time-out, and is no letter any more', async () => {
  const { queue, url } = names();
  const operator = await forThisTest(new RedisQueue({ url, queue }));
  await bury(redis, queue, ['x', 'y'], { priority: -1, timeoutMs: 600_000 });
  const [x] = (await operator.deadLetters()).filter(({ payload }) => payload === 'x');

  expect(await operator.retry([x?.id as string, x?.id as string, '1-1'])).toEqual({
    count: 1,
    missing: ['1-1'],
  });
  expect(await operator.status()).toMatchObject({
    deadLetters: 1,
    perLevel: { low: { waiting: 1, pending: 0 } },
  });
  expect(await redis.cli('XRANGE', `batchwise:{${queue}}:requests:low`, '-', '+')).toMatch(
    /json-\S+ \d+ 0\n"x"$/,
  );

  const seen: string[] = [];
  const handler = (items: string[]) => {
    seen.push(...items);
    return items;
  };
  await forThisTest(new RedisProcessor(handler, { url, queue }));
  await eventually('an empty queue', async () => (await operator.status()).depth === 0);
  expect(seen).toEqual(['x']);
});

test('all are retried, also when they are more than one script handles', async () => {
  const { queue, url } = names();
  const operator = await forThisTest(new RedisQueue({ url, queue }));
  const add = `for i = 1, 450 do redis.call('XADD', KEYS[1], '*', 'json-gone ' .. i .. ' 0', i, 'level', '2', 'id', '1-' .. i, 'deliveries', '3') end`;
  await redis.cli('EVAL', add, 1, `batchwise:{${queue}}:dead`);

  expect(await operator.retry('all')).toEqual({ count: 450, missing: [] });
  expect(await operator.status()).toMatchObject({ deadLetters: 0, depth: 450, waiting: 450 });
  expect(await keysOf(queue)).toEqual([`batchwise:{${queue}}:requests:normal`]);

  const seen: number[] = [];
  const handler = (items: number[]) => {
    seen.push(...items);
    return items;
  };
  await forThisTest(new RedisProcessor(handler, { url, queue }));
  await eventually('an empty queue', async () => (await operator.status()).depth === 0);
  expect(seen.sort((a, b) => a - b)).toEqual(Array.from({ length: 450 }, (_, i) => i + 1));
});

test('letters are dropped, these or all, and nothing is left of them', async () => {
  const { queue, url } = names();
  const operator = await forThisTest(new RedisQueue({ url, queue }));
  await bury(redis, queue, ['a', 'b', 'c']);
  const [letter] = await operator.deadLetters();

  expect(await operator.drop([letter?.id as string])).toEqual({ count: 1, missing: [] });
  expect((await operator.deadLetters()).map(({ id }) => id)).not.toContain(letter?.id);
  expect(await operator.drop('all')).toEqual({ count: 2, missing: [] });
  expect(await operator.status()).toMatchObject({ died: 3, deadLetters: 0, depth: 0 });
  expect(await keysOf(queue)).not.toContain(`batchwise:{${queue}}:dead`);
});

test('where Redis cannot be reached that is said at once, and once it is back it answers', async () => {
  const port = await freePort();
  const operator = await forThisTest(new RedisQueue({ url: `redis://127.0.0.1:${port}`, queue: 'q' }));
  const unreachable = expect.objectContaining({
    code: 'UNAVAILABLE',
    message: expect.stringMatching(/^Cannot connect to Redis at 127\.0\.0\.1:\d+: .*ECONNREFUSED/),
  });
  await expect(operator.status()).rejects.toEqual(unreachable);
  await expect(operator.retry('all')).rejects.toEqual(unreachable);
  await expect(operator.deadLetters()).rejects.toEqual(unreachable);

  await forThisTest(startRedis({ port }));
  const status = await eventually('an answer', () => operator.status().catch(() => undefined));
  expect(status.depth).toBe(0);
});

test('in a cluster a queue is looked at, and its letters are seen to, where it is', async () => {
  const cluster = await forThisTest(startCluster());
  const { queue } = names();
  const dead = `batchwise:{${queue}}:dead`;
  const url = cluster.url.replace('redis:', 'redis+cluster:');
  const operator = await forThisTest(new RedisQueue({ url, queue }));
  const node = await cluster.ownerOf(dead);
  for (const id of ['5-0', '6-0', '7-0']) {
    await node.cli('XADD', dead, id, 'json-x 1 0', '1', 'level', '1', 'id', '4-0', 'deliveries', '3');
  }
  expect(await operator.deadLetters({ count: 1 })).toMatchObject([
    { id: '5-0', priority: 'high', payload: 1 },
  ]);
  expect(await operator.retry(['5-0'])).toEqual({ count: 1, missing: [] });
  expect(await operator.drop(['6-0'])).toEqual({ count: 1, missing: [] });
  expect(await operator.status()).toMatchObject({ deadLetters: 1, perLevel: { high: { waiting: 1 } } });
});

test.each<[string, (operator: RedisQueue) => Promise<unknown>, RegExp]>([
  [
    'an id that is none',
    (operator) => operator.retry(['abc']),
    /^retry\(ids\): expected the id of a dead letter, .*got "abc"/,
  ],
  ['no list', (operator) => operator.drop('1-0' as 'all'), /^drop\(which\): expected 'all' or an array/],
  ['no count', (operator) => operator.deadLetters({ count: 0 }), /count: expected a whole number from 1/],
  [
    'an unknown option',
    (operator) => operator.deadLetters({ cuont: 1 } as object),
    /unknown option "cuont"\. Did you mean count\? Known are count, after/,
  ],
])('%s is refused', async (_what, call, message) => {
  const operator = await forThisTest(new RedisQueue(names()));
  await expect(call(operator)).rejects.toThrow(message);
  await expect(call(operator)).rejects.toBeInstanceOf(BatchwiseError);
});

test('a queue without a name is refused', () => {
  expect(() => new RedisQueue({ url: redis.url, queue: '' })).toThrow(/queue: expected a name/);
  expect(() => new RedisQueue({ ...names(), cueue: 1 } as never)).toThrow(/unknown option "cueue"/);
});
