/** `batchwise queue status` and `batchwise dead` as processes, on a real Redis. */
import { RedisBatcher, RedisProcessor, RedisQueue } from '@batchwise/redis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { bury } from '../../../redis/test/support/bury.js';
import { type RedisServer, startRedis } from '../../../redis/test/support/redis-server.js';
import { until } from './support/until.js';
import { Working } from './support/working.js';

let redis: RedisServer;
let number = 0;

beforeAll(async () => {
  redis = await startRedis();
});

afterAll(() => redis.stop());

function queueName(): string {
  number += 1;
  return `queue-${number}`;
}

/** To its end. The environment says where Redis is, as it does for its users. */
async function batchwise(...args: string[]) {
  const working = new Working(args, { env: { REDIS__URL: redis.url } });
  const { code } = await working.exit;
  return { code, stdout: working.stdout, stderr: working.stderr };
}

const keys = () => redis.cli('KEYS', '*');

describe('queue status', () => {
  test('of a queue that does not exist is empty, and creates nothing', async () => {
    const before = await keys();
    const { code, stdout, stderr } = await batchwise('queue', 'status', '--queue', queueName());
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/^Queue queue-\d+\n {2}outstanding +0 {2}0 waiting, 0 fetched by workers\n/);
    expect(stdout).toMatch(/\nNo workers\.\n$/);
    expect(await keys()).toBe(before);
  });

  test('shows items and workers', async () => {
    const queue = queueName();
    const batcher = new RedisBatcher<number, number>({ url: redis.url, queue });
    onTestFinished(() => batcher.destroy());
    const operator = new RedisQueue({ url: redis.url, queue });
    onTestFinished(() => operator.close());
    const never = new RedisProcessor<number, number>(() => new Promise(() => {}), {
      url: redis.url,
      queue,
      maxBatchSize: 2,
      leaseMs: 200,
    });
    onTestFinished(() => never.destroy());
    for (let i = 0; i < 5; i++) batcher.submit(i).catch(() => {});
    await until(async () => (await operator.status()).processors[0]?.running === 2, 'a batch runs');

    const text = await batchwise('queue', 'status', '--queue', queue);
    expect(text.stdout).toMatch(/^ {2}outstanding +5 {2}3 waiting, 2 fetched by workers$/m);
    expect(text.stdout).toMatch(new RegExp(`^\\S+ +${process.pid} +– +2 +0 +2 +.* ago$`, 'm'));
    const json = await batchwise('queue', 'status', '--queue', queue, '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      queue,
      depth: 5,
      waiting: 3,
      pending: 2,
      processors: [{ pid: process.pid, running: 2, max_batch_size: 2 }],
    });
  });

  test('--watch continues until a signal, also while Redis is unreachable', async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    const watching = new Working(['queue', 'status', '--watch', '--json', '--url', own.url]);
    const shown = () => watching.stdout.split('\n').filter(Boolean);
    await until(() => shown().length >= 2, 'it shows it again');
    await own.kill();
    await watching.said(/^error: .*Redis/m);
    const before = shown().length;
    await own.restart();
    await until(() => shown().length > before, 'it goes on');
    for (const line of shown()) expect(JSON.parse(line)).toMatchObject({ queue: 'request', depth: 0 });
    watching.signal('SIGINT');
    expect(await watching.exit).toEqual({ code: 0, signal: null });
  });

  test('an unreachable Redis exits with 1', async () => {
    const { code, stdout, stderr } = await batchwise('queue', 'status', '--url', 'redis://127.0.0.1:1');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^error: Cannot connect to Redis at 127\.0\.0\.1:1: .*ECONNREFUSED[^\n]*\n$/);
  });
});

describe('dead', () => {
  test('list shows dead letters, retry runs them again, drop deletes them', async () => {
    const queue = queueName();
    const dead = (...args: string[]) => batchwise('dead', ...args, '--queue', queue);
    expect(await dead('list')).toEqual({ code: 0, stdout: `No dead letters in ${queue}.\n`, stderr: '' });

    await bury(redis, queue, [{ poison: 'a' }, { poison: 'b' }, { poison: 'c' }]);
    const listed = await dead('list');
    expect(listed).toMatchObject({ code: 0, stderr: '' });
    expect(listed.stdout).toMatch(/^\d+-\d+ +\d{4}-\S+Z +1 {2}normal +\{"poison":"b"\}$/m);
    const letters: { id: string; payload: { poison: string } }[] = JSON.parse(
      (await dead('list', '--json')).stdout,
    );
    expect(letters.map(({ payload }) => payload.poison).sort()).toEqual(['a', 'b', 'c']);
    const page = await dead('list', '--count', '2');
    expect(page.stderr).toBe(`There are more: --after ${letters[1]?.id}\n`);
    expect((await dead('list', '--after', letters[1]?.id as string)).stdout).toContain(letters[2]?.id);

    expect(await dead('retry', letters[0]?.id as string)).toEqual({
      code: 0,
      stdout: 'Retried 1 dead letter.\n',
      stderr: '',
    });
    const seen: unknown[] = [];
    const handler = (items: unknown[]) => {
      seen.push(...items);
      return items;
    };
    const processor = new RedisProcessor(handler, { url: redis.url, queue });
    await until(() => seen.length > 0, 'it runs once more');
    await processor.close();
    expect(seen).toEqual([letters[0]?.payload]);

    expect(await dead('drop', letters[0]?.id as string, letters[1]?.id as string)).toEqual({
      code: 1,
      stdout: 'Dropped 1 dead letter.\n',
      stderr: `error: no dead letters: ${letters[0]?.id}\n`,
    });
    expect(JSON.parse((await dead('drop', '--all', '--json')).stdout)).toEqual({ count: 1, missing: [] });
    expect((await dead('list', '--json')).stdout).toBe('[]\n');
  });

  test('retry --all returns all', async () => {
    const queue = queueName();
    await bury(redis, queue, [1, 2]);
    expect((await batchwise('dead', 'retry', '--all', '--queue', queue)).stdout).toBe(
      'Retried 2 dead letters.\n',
    );
    const operator = new RedisQueue({ url: redis.url, queue });
    onTestFinished(() => operator.close());
    expect(await operator.status()).toMatchObject({ waiting: 2, deadLetters: 0 });
  });
});
