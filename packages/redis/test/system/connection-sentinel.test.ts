/** The master is where the sentinels say. */
import { expect, test } from 'vitest';
import { linkForThisTest } from '../connection/link-for-this-test.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisSentinel, startSentinel } from '../support/redis-sentinel.js';
import { startRedis } from '../support/redis-server.js';

function urlOf({ sentinelAddresses, masterName }: RedisSentinel): string {
  return `redis+sentinel://${sentinelAddresses.join(',')}/${masterName}`;
}

test('commands go to the new master after an orderly change and after a death', async () => {
  const sentinel = await forThisTest(startSentinel());
  const link = linkForThisTest({ url: urlOf(sentinel) });
  const reader = linkForThisTest({ url: urlOf(sentinel) });
  const portOf = async () => /tcp_port:(\d+)/.exec(String(await link.send('k', ['INFO', 'server'])))?.[1];

  await link.send('s', ['XGROUP', 'CREATE', 's', 'g', '$', 'MKSTREAM']);
  expect(await portOf()).toBe(String(sentinel.master.port));
  const readGroup = ['XREADGROUP', 'GROUP', 'g', 'c', 'BLOCK', '0', 'STREAMS', 's', '>'];
  const readUntilAnswered = async () => {
    for (;;) {
      try {
        return await reader.send('s', readGroup);
      } catch (error) {
        expect(error).toMatchObject({ name: 'LinkLostError' });
      }
    }
  };
  const read = readUntilAnswered();

  await link.send('k', ['WAIT', '1', '5000']);
  await sentinel.switchOver();
  await eventually(
    'the link to be at the new master',
    async () => (await portOf().catch(() => undefined)) === String(sentinel.master.port),
  );
  await link.send('s', ['XADD', 's', '1-1', 'f', 'v']);
  expect(await read).toEqual([['s', [['1-1', ['f', 'v']]]]]);

  await sentinel.replicaFollows();
  await link.send('k', ['WAIT', '1', '10000']);
  await sentinel.failOver();
  expect(
    await link.send('s', ['XADD', 's', '2-1', 'f', 'v']).catch(() => link.send('s', ['XLEN', 's'])),
  ).toBeTruthy();
  expect(await portOf()).toBe(String(sentinel.master.port));
});

test('a sentinel that is gone is passed over', async () => {
  const sentinel = await forThisTest(startSentinel());
  await sentinel.sentinels[0]?.kill();
  for (let round = 0; round < 3; round += 1) {
    const link = linkForThisTest({ url: urlOf(sentinel) });
    expect(await link.send('k', ['SET', 'k', 'v'])).toBe('OK');
  }
});

test('sentinels that know no such master, or want a login, are a clear error', async () => {
  const redis = await forThisTest(startRedis());
  const settings = [`sentinel monitor mymaster 127.0.0.1 ${redis.port} 1`, 'requirepass sesame'];
  const sentinel = await forThisTest(startRedis({ sentinel: true, settings }));
  const url = `redis+sentinel://127.0.0.1:${sentinel.port}`;

  const other = linkForThisTest({ url: `${url}/other?sentinelPassword=sesame` }).send('k', ['PING']);
  await expect(other).rejects.toThrow('no sentinel has a master named "other"');
  await expect(linkForThisTest({ url: `${url}/mymaster` }).send('k', ['PING'])).rejects.toThrow('NOAUTH');
  expect(await linkForThisTest({ url: `${url}/mymaster?sentinelPassword=sesame` }).send('k', ['PING'])).toBe(
    'PONG',
  );
});

test('a database behind sentinels', async () => {
  const sentinel = await forThisTest(startSentinel());
  await linkForThisTest({ url: `${urlOf(sentinel)}/5` }).send('k', ['SET', 'k', 'five']);
  expect(await sentinel.master.cli('-n', 5, 'GET', 'k')).toBe('five');
});
