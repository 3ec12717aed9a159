/** Makes dead letters of items as they come about: somebody takes them and is never heard of again. */
import { RedisBatcher } from '../../src/redis-batcher.js';
import { RedisProcessor } from '../../src/redis-processor.js';
import type { RedisServer } from './redis-server.js';

/** The items' callers are told, and gone. Leaves no processor behind. */
export async function bury(
  redis: RedisServer,
  queue: string,
  items: readonly unknown[],
  {
    priority = 0,
    timeoutMs,
    payload,
  }: { priority?: number; timeoutMs?: number; payload?: 'json' | 'msgpack' | 'bytes' } = {},
): Promise<Error[]> {
  const { url } = redis;
  const batcher = new RedisBatcher({ url, queue, payload });
  const told = Promise.all(
    items.map((item) =>
      batcher.submit(item, { priority, timeoutMs }).then(
        () => {
          throw new Error('expected a dead letter, got an answer');
        },
        (error: Error) => error,
      ),
    ),
  );
  const level = priority > 0 ? 'high' : priority < 0 ? 'low' : 'normal';
  const stream = `batchwise:{${queue}}:requests:${level}`;
  await redis.cli('XGROUP', 'CREATE', stream, 'processors', '0', 'MKSTREAM').catch(() => {}); // there may be one
  for (let taken = 0; taken < items.length; ) {
    const reply = await redis.cli(
      ...['XREADGROUP', 'GROUP', 'processors', 'ghost', 'COUNT', items.length, 'BLOCK', 10_000],
      ...['STREAMS', stream, '>'],
    );
    taken += reply.split('\n').filter((line) => /^\d+-\d+$/.test(line)).length;
  }
  const processor = new RedisProcessor((given: unknown[]) => given, {
    url,
    queue,
    payload,
    leaseMs: 100,
    maxDeliveries: 1,
  });
  try {
    return await told;
  } finally {
    await processor.close();
    await batcher.close();
  }
}
