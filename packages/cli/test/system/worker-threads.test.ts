/** A function of a service that asks for threads has them in a worker, too: its lease is renewed while it computes. */
import { threadId } from 'node:worker_threads';
import { Batcher } from 'batchwise';
import { expect, test } from 'vitest';
import { serviceSource } from '../../src/worker/service-source.js';
import { fixture } from './support/serving.js';

test('a worker runs the function on threads of its own', async () => {
  const { handler, options, close } = await serviceSource(
    fixture('thread-service.ts'),
    'where',
    {},
    () => {},
  );
  const batcher = new Batcher(handler, { maxBatchSize: 1, concurrency: options.concurrency ?? 1 });
  const threads = new Set(await Promise.all([batcher.submit(1), batcher.submit(2)]));
  expect(threads.size).toBe(2);
  expect(threads).not.toContain(threadId);
  await batcher.close();
  await close();
});
