/** A queue in a real Redis as a target. */
import { RedisProcessor } from '@batchwise/redis';
import { BatchwiseError } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { forThisTest } from '../../../redis/test/support/for-this-test.js';
import { startRedis } from '../../../redis/test/support/redis-server.js';
import { createTarget } from '../../src/targets/create-target.js';
import type { TargetSpec } from '../../src/targets/target-spec.js';
import { counted, sendAll } from '../support/send-all.js';

const specOf = ({ port }: { port: number }, more: Partial<TargetSpec> = {}): TargetSpec => ({
  url: `redis://127.0.0.1:${port}/digits`,
  ...more,
});

test('items are submitted, and errors of the processor are counted by code', async () => {
  const redis = await forThisTest(startRedis());
  const seen: unknown[] = [];
  const handler = (items: { do: string }[]) => {
    seen.push(...items);
    return items.map((item) => {
      if (item.do === 'overload') return new BatchwiseError('OVERLOADED', 'too much');
      return item.do === 'fail' ? new Error('broken') : 7;
    });
  };
  const processor = await forThisTest(new RedisProcessor(handler, { url: redis.url, queue: 'digits' }));
  await processor.ready;
  const target = createTarget(
    specOf(redis, { data: ['ok', 'overload', 'fail'].map((name) => ({ json: { do: name } })) }),
  );
  expect(target.name).toBe('queue digits');
  await target.prepare();
  expect(target.connections).toBe(2);
  expect(counted(await sendAll(target, 90, 10))).toEqual({
    ok: 30,
    'rejected OVERLOADED': 30,
    'failed Error: broken': 30,
  });
  expect(seen).toHaveLength(90);
  await target.close();
});

test('bytes are submitted as bytes; what is not answered ends with the time limit, or with the target', async () => {
  const redis = await forThisTest(startRedis());
  const seen: Uint8Array[] = [];
  const handler = (items: Uint8Array[]) => {
    seen.push(...items);
    return new Promise<never>(() => {});
  };
  const options = { url: redis.url, queue: 'digits', payload: 'bytes' } as const;
  const processor = new RedisProcessor(handler, options);
  await processor.ready;
  const data = [{ base64: 'AAEC' }];
  const limited = createTarget(specOf(redis, { data, timeoutMs: 300 }));
  await limited.prepare();
  expect(counted(await sendAll(limited, 4, 4))).toEqual({ 'failed no response within 300 ms': 4 });
  await limited.close();
  const unlimited = createTarget(specOf(redis, { data }));
  await unlimited.prepare();
  const ends = sendAll(unlimited, 4, 4);
  // On a slow machine, those with a time limit may have been over before the processor saw them.
  while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(Buffer.from(seen[0] as Uint8Array).toString('base64')).toBe('AAEC');
  await unlimited.close();
  expect(counted(await ends)).toEqual({ 'failed stopped': 4 });
  processor.destroy();
});

describe('before the run it is told', () => {
  test('that nothing reads the queue', async () => {
    const redis = await forThisTest(startRedis());
    await expect(createTarget(specOf(redis)).prepare()).rejects.toMatchObject({
      code: 'UNREACHABLE',
      message: expect.stringContaining('No processor reads the queue "digits"'),
    });
  });

  test('that Redis refuses the connection', async () => {
    const redis = await startRedis();
    await redis.stop();
    await expect(createTarget(specOf(redis)).prepare()).rejects.toMatchObject({
      name: 'LoadError',
      message: expect.stringContaining('refused the connection'),
    });
  });
});
