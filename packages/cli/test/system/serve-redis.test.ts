/** `batchwise serve` in front of a queue in Redis, `batchwise worker` behind it: as their users start them. */
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RedisServer, startRedis } from '../../../redis/test/support/redis-server.js';
import { jsonOf } from './support/http-client.js';
import { batchSizeIn, expectInferred, inferBody, samplesOf } from './support/model-samples.js';
import { model, Serving } from './support/serving.js';
import { until } from './support/until.js';
import { Working } from './support/working.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(async () => {
  await Serving.endAll();
  await redis.stop();
});

test('a model is served by workers, however many rows a request has and a batch of theirs may have', async () => {
  const server = await Serving.start([model('digits')], {
    env: { BATCHWISE__RUNNERS__DIGITS__REDIS__QUEUE: 'digits', REDIS__URL: redis.url },
  });
  const worker = await Working.worker([
    model('digits'),
    '--queue',
    'digits',
    '--payload',
    'msgpack',
    '--url',
    redis.url,
    '--max-batch-size',
    '16',
  ]);
  const samples = samplesOf('digits');
  for (const rows of [1, 16, 17, samples.length]) {
    const some = samples.slice(0, rows);
    const answer = await server.client.post('/v2/models/digits/infer', inferBody('digits', some));
    expectInferred(answer, some);
    expect(batchSizeIn(answer)).toBe(Math.min(rows, 16));
  }
  await until(() => worker.batches.length >= 4, 'all batches are told of');
  expect(worker.batches).toHaveLength(4);
  worker.signal('SIGTERM');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
});

test('a function of a service is run by workers with the code of the service', async () => {
  const service = `
    import { defineService, fn } from '@batchwise/server';
    export const service = defineService({
      runners: {
        where: fn((items: number[]) => items.map((item) => [item, process.pid]), {
          batchable: true,
          redis: { queue: 'where' },
        }),
      },
      routes: (route) => [
        route.post('/where', { handler: (item: number, { runners }) => runners.where.predict(item) }),
      ],
    });
  `;
  const worker = await Working.worker(['service.ts#where', '--queue', 'where', '--url', redis.url], {
    files: { 'service.ts': service },
  });
  const env = { BATCHWISE__RUNNERS__REDIS__URL: redis.url };
  const server = await Serving.start([join(worker.folder, 'service.ts')], { env });
  const answer = await server.client.post('/where', 7);
  expect(jsonOf(answer)).toEqual([7, worker.pid]);
});
