/** `batchwise worker` that is started while Redis reads its data, as after a restart of the machine. */
import { RedisBatcher } from '@batchwise/redis';
import { expect, onTestFinished, test } from 'vitest';
import { startRedis } from '../../../redis/test/support/redis-server.js';
import { until } from './support/until.js';
import { Working } from './support/working.js';

// It took the first thing that kept it from connecting for a mistake in the address.
test('the worker waits for a Redis that is loading its data', async () => {
  const redis = await startRedis({
    aof: true,
    settings: ['appendfsync always', 'key-load-delay 5000', 'loading-process-events-interval-bytes 1024'],
  });
  onTestFinished(() => redis.stop());
  const fill = "for i = 1, 4000 do redis.call('SET', 'k' .. i, string.rep('x', 100)) end return 'filled'";
  expect(await redis.cli('EVAL', fill, 0)).toBe('filled');
  // Only while it reads a rewritten file does it answer, "not yet", every few keys.
  await redis.cli('BGREWRITEAOF');
  const isWritten = async () =>
    /aof_rewrite_in_progress:0\r?\naof_rewrite_scheduled:0/.test(await redis.cli('INFO', 'persistence'));
  await until(isWritten, 'the file is rewritten');
  await redis.kill();
  const restarted = redis.restart();
  const isLoading = async () => (await redis.cli('PING').catch(String)).includes('LOADING');
  await until(isLoading, 'Redis is loading');

  const files = { 'h.mjs': 'export const handler = (items) => items;' };
  const worker = new Working(['worker', 'h.mjs', '--url', redis.url, '--queue', 'late'], { files });
  await worker.said(/^Cannot connect to Redis at .*: LOADING .*\. Waiting for Redis\.$/m);
  await redis.cli('CONFIG', 'SET', 'key-load-delay', 0);
  await restarted;
  await worker.said(/Ctrl-C/);
  const client = new RedisBatcher<number, number>({ url: redis.url, queue: 'late' });
  onTestFinished(() => client.destroy());
  expect(await client.submit(1)).toBe(1);
});
