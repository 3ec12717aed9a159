/** What takes longer to be noticed. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TestQueue } from '../chaos/test-queue.js';
import { eventually } from '../support/eventually.js';
import { forThisTest } from '../support/for-this-test.js';
import { type RedisServer, startRedis } from '../support/redis-server.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

test('a call without a deadline whose stream is deleted fails before the next heartbeat when no replies come', async () => {
  const queue = await forThisTest(new TestQueue(redis.url));
  const call = queue.client({ clientTtlMs: 600_000 }).submit({ id: 1 });
  await eventually('it to be queued', async () => (await queue.inspector.outstanding()) === 1);
  await queue.inspector.send('DEL', queue.inspector.keys.requests[1]);
  await expect(call).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});
