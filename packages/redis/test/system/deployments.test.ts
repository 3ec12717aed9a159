/** The same queue on every kind of Redis: alone, in a cluster, behind sentinels, with TLS and a login. */
import { expect, test } from 'vitest';
import { RedisBatcher, type RedisBatcherOptions, RedisProcessor } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { startCluster } from '../support/redis-cluster.js';
import { startSentinel } from '../support/redis-sentinel.js';
import { startRedis } from '../support/redis-server.js';

type Connection = Omit<RedisBatcherOptions<number>, 'queue'>;

/** A processor and a client on a queue, closed when the test ends. */
async function queueOn(connection: Connection, queue = 'double') {
  const double = (numbers: number[]) => numbers.map((number) => 2 * number);
  const processor = await forThisTest(
    new RedisProcessor(double, { ...connection, queue, maxBatchSize: 16, leaseMs: 2000 }),
  );
  const batcher = await forThisTest(new RedisBatcher<number, number>({ ...connection, queue }));
  await Promise.all([processor.ready, batcher.ready]);
  return { processor, batcher };
}

const hundred = Array.from({ length: 100 }, (_, i) => i);
const doubled = hundred.map((number) => 2 * number);

test('TLS with client certificates, an ACL user with no more rights than needed, another database', async () => {
  const rights =
    'on >secret ~batchwise:* &* -@all +@read +@write +@stream +@scripting +@connection +@blocking +info +time';
  const redis = await forThisTest(startRedis({ tls: 'mutual', settings: [`user batchwise ${rights}`] }));
  const { ca, client } = redis.certificates as NonNullable<typeof redis.certificates>;
  const { batcher } = await queueOn({
    url: redis.url,
    username: 'batchwise',
    password: 'secret',
    database: 3,
    tls: { ca, ...client },
  });
  expect(await Promise.all(hundred.map((number) => batcher.submit(number)))).toEqual(doubled);
  expect(await redis.cli('-n', '3', 'KEYS', '*requests*')).toContain('batchwise:{double}:requests:normal');
  expect(await redis.cli('-n', '0', 'DBSIZE')).toMatch(/^(\(integer\) )?0$/);
});

test('queues in a cluster are on its nodes, and a queue moves to another without losing anything', async () => {
  const cluster = await forThisTest(startCluster());
  const url = `redis+cluster://${cluster.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
  const queues = await Promise.all(['one', 'two', 'three', 'four'].map((queue) => queueOn({ url }, queue)));
  for (const { batcher } of queues) {
    expect(await Promise.all(hundred.map((number) => batcher.submit(number)))).toEqual(doubled);
  }
  const key = 'batchwise:{one}:requests:normal';
  const before = await cluster.ownerOf(key);
  const { batcher } = queues[0] as (typeof queues)[number];
  let isMoving = true;
  const answers: number[] = [];
  const traffic = (async () => {
    while (isMoving) answers.push(...(await Promise.all(hundred.map((number) => batcher.submit(number)))));
  })();
  await cluster.moveSlotOf(key, await cluster.otherThanOwnerOf(key));
  isMoving = false;
  await traffic;
  expect(answers).toEqual(Array.from({ length: answers.length / 100 }, () => doubled).flat());
  expect(await Promise.all(hundred.map((number) => batcher.submit(number)))).toEqual(doubled);
  expect(await cluster.ownerOf(key)).not.toBe(before);
});

test('when sentinels name another master, both ends follow', async () => {
  const sentinel = await forThisTest(startSentinel());
  const url = `redis+sentinel://${sentinel.sentinelAddresses.join(',')}/${sentinel.masterName}`;
  const { batcher } = await queueOn({ url });
  expect(await Promise.all(hundred.map((number) => batcher.submit(number)))).toEqual(doubled);
  await sentinel.failOver();
  // Replication is asynchronous: what was under way may be lost, hence the deadline. What comes later is not.
  await eventually('answers from the new master', async () => {
    const answers = await Promise.allSettled(
      hundred.map((number) => batcher.submit(number, { timeoutMs: 3000 })),
    );
    return answers.every(({ status }) => status === 'fulfilled');
  });
});

test('a Redis that throws things away is refused, with the reason and what to do', async () => {
  const redis = await forThisTest(
    startRedis({ settings: ['maxmemory 100mb', 'maxmemory-policy allkeys-lru'] }),
  );
  const batcher = await forThisTest(new RedisBatcher<number, number>({ url: redis.url, queue: 'double' }));
  await expect(batcher.ready).rejects.toThrow(/maxmemory-policy.*allkeys-lru.*noeviction/s);
  await expect(batcher.submit(1)).rejects.toThrow(/noeviction/);
  const processor = await forThisTest(
    new RedisProcessor((items: number[]) => items, { url: redis.url, queue: 'double' }),
  );
  await expect(processor.ready).rejects.toThrow(/noeviction/);
});
