/** Each key is at the node that has its slot, also while slots move. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { checkRedis } from '../../src/connection/check-redis.js';
import type { Script } from '../../src/connection/script.js';
import { linkForThisTest } from '../connection/link-for-this-test.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisCluster, startCluster } from '../support/redis-cluster.js';
import { startRedis } from '../support/redis-server.js';

function script(name: string, source: string): Script {
  return { name, source, sha1: createHash('sha1').update(source).digest('hex') };
}
const increment = script('increment', "return redis.call('INCR', KEYS[1])");
const incrementBoth = script(
  'increment-both',
  "return { redis.call('INCR', KEYS[1]), redis.call('INCR', KEYS[2]) }",
);

/** Of all tests that leave its nodes alive: to start one takes seconds. */
let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster?.stop());

/** Each finds it as if it were new, but for who has which slot. */
beforeEach(async () => {
  for (const node of cluster.nodes) {
    await node.cli('FLUSHALL');
    await node.cli('SCRIPT', 'FLUSH');
    await node.cli('CONFIG', 'RESETSTAT');
  }
});

function urlOf({ nodes }: RedisCluster): string {
  return `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`;
}

test('keys are found wherever they are, from any node', async () => {
  const link = linkForThisTest({ url: cluster.url.replace('redis:', 'redis+cluster:') });
  for (const key of ['a', 'b', 'c', 'd', '{a}2']) {
    expect(await link.run(increment, [key], [])).toBe(1);
    expect(await (await cluster.ownerOf(key)).cli('GET', key)).toBe('1');
  }
  await expect(checkRedis(link, 'a')).resolves.toBeUndefined();
});

test('a link for one queue is one connection, opened at once', async () => {
  const link = linkForThisTest({ url: urlOf(cluster), name: 'queue-link', key: '{q}:1' });
  expect(link.isUp).toBe(false);
  await new Promise<void>((resolve) => link.onUp(resolve));
  expect(link.isUp).toBe(true);
  await Promise.all(['{q}:1', '{q}:2', '{q}:3'].map((key) => link.run(increment, [key], [])));
  const lists = await Promise.all(cluster.nodes.map((node) => node.cli('CLIENT', 'LIST')));
  expect(lists.join('\n').match(/name=queue-link/g)).toHaveLength(1);
});

test('a slot that moves is followed: nothing is lost, nothing is done twice', async () => {
  const link = linkForThisTest({ url: urlOf(cluster) });
  const keys = ['{q}:a', '{q}:b'];
  expect(await link.run(incrementBoth, keys, [])).toEqual([1, 1]);
  let count = 1;
  let isOver = false;
  const traffic = (async () => {
    while (!isOver) {
      count += 1;
      expect(await link.run(incrementBoth, keys, [])).toEqual([count, count]);
    }
  })();

  for (let round = 0; round < 4; round += 1) {
    const before = count;
    await eventually('traffic', () => count > before + 20);
    await cluster.moveSlotOf('{q}', await cluster.otherThanOwnerOf('{q}'));
  }
  const before = count;
  await eventually('traffic', () => count > before + 20);
  isOver = true;
  await traffic;
});

test('ASK: a key that has moved already is found at its new node, with a script that this one does not know', async () => {
  const link = linkForThisTest({ url: urlOf(cluster) });
  await link.run(increment, ['{q}:n'], []);
  const move = await cluster.beginMoveOf('{q}', await cluster.otherThanOwnerOf('{q}'));
  await move.moveKeys();
  expect(await move.from.cli('GET', '{q}:n').catch(String)).toContain('ASK');

  expect(await Promise.all([1, 2, 3].map(() => link.run(increment, ['{q}:n'], [])))).toEqual([2, 3, 4]);
  expect(await link.send('{q}:n', ['GET', '{q}:n'])).toBe('4');
  await move.finish();
  expect(await link.run(increment, ['{q}:n'], [])).toBe(5);
});

test('TRYAGAIN: a script whose keys are at two nodes waits until they are together', async () => {
  const link = linkForThisTest({ url: urlOf(cluster) });
  const keys = ['{q}:a', '{q}:b'];
  await link.run(incrementBoth, keys, []);
  const move = await cluster.beginMoveOf('{q}', await cluster.otherThanOwnerOf('{q}'));
  await move.from.cli('MIGRATE', '127.0.0.1', move.to.port, '{q}:a', 0, 5_000);
  expect(await move.from.cli('EXISTS', ...keys).catch(String)).toContain('TRYAGAIN');

  const waiting = link.run(incrementBoth, keys, []);
  await eventually('the link to be told to try again', async () =>
    /errorstat_TRYAGAIN:count=([2-9]|\d\d)/.test(await move.from.cli('INFO', 'errorstats')),
  );
  await move.finish();
  expect(await waiting).toEqual([2, 2]);
});

test('a read that blocks follows its slot, and can be unblocked there', async () => {
  const link = linkForThisTest({ url: urlOf(cluster) });
  const reader = linkForThisTest({ url: urlOf(cluster) });
  await link.send('{q}', ['XGROUP', 'CREATE', '{q}', 'g', '$', 'MKSTREAM']);
  const readGroup = ['XREADGROUP', 'GROUP', 'g', 'c', 'BLOCK', '0', 'STREAMS', '{q}', '>'];
  const read = reader.send('{q}', readGroup);
  const isBlocked = async () => {
    const owner = await cluster.ownerOf('{q}');
    return eventually('the read to block', async () =>
      (await owner.cli('INFO', 'clients')).includes('blocked_clients:1'),
    );
  };
  await isBlocked();
  await cluster.moveSlotOf('{q}', await cluster.otherThanOwnerOf('{q}'));
  await link.send('{q}', ['XADD', '{q}', '1-1', 'f', 'v']);
  expect(await read).toEqual([['{q}', [['1-1', ['f', 'v']]]]]);

  const second = reader.send('{q}', readGroup);
  await isBlocked();
  await reader.unblock('{q}');
  expect(await second).toBeNull();
});

test('a URL that does not fit is a clear error', async () => {
  const key = await eventually('a key of another node', async () => {
    for (const candidate of ['a', 'b', 'c', 'd']) {
      if ((await cluster.ownerOf(candidate)) !== cluster.nodes[0]) return candidate;
    }
    return undefined;
  });
  const alone = linkForThisTest({ url: cluster.url });
  await expect(alone.send(key, ['GET', key])).rejects.toThrow(/expected redis\+cluster:\/\//);

  const redis = await forThisTest(startRedis());
  const noCluster = linkForThisTest({ url: redis.url.replace('redis:', 'redis+cluster:') });
  await expect(noCluster.send('k', ['GET', 'k'])).rejects.toThrow('cluster support disabled');
});

test('a slot whose node died is found at the node that took it over', async () => {
  const cluster = await forThisTest(startCluster());
  for (const node of cluster.nodes) await node.cli('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
  const owner = await cluster.ownerOf('a');
  // The only one it is told of is the one that dies: it has to remember the others.
  const link = linkForThisTest({ url: `redis+cluster://127.0.0.1:${owner.port}` });
  expect(await link.run(increment, ['a'], [])).toBe(1);
  await owner.kill();
  const waiting = link.run(increment, ['a'], []);
  const rest = cluster.nodes.filter((node) => node !== owner);
  const heir = (await rest[0]?.cli('CLUSTER', 'MYID')) ?? '';
  for (const node of rest) await node.cli('CLUSTER', 'SETSLOT', await cluster.slotOf('a'), 'NODE', heir);
  expect(await waiting).toBe(1);
  expect(await rest[0]?.cli('GET', 'a')).toBe('1');
});

test('a node that dies and comes back is waited for; the others go on', async () => {
  const cluster = await forThisTest(startCluster());
  for (const node of cluster.nodes) await node.cli('CONFIG', 'SET', 'cluster-require-full-coverage', 'no');
  const link = linkForThisTest({ url: urlOf(cluster) });
  const owner = await cluster.ownerOf('a');
  const key = await eventually('a key of another node', async () => {
    for (const candidate of ['b', 'c', 'd', 'e']) {
      if ((await cluster.ownerOf(candidate)) !== owner) return candidate;
    }
    return undefined;
  });
  await link.run(increment, ['a'], []);
  await owner.kill();
  const waiting = link.run(increment, ['a'], []);
  expect(await link.run(increment, [key], [])).toBe(1);
  await owner.restart();
  expect(await waiting).toBe(1);
});
