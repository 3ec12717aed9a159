/** `batchwise worker` in front of another server: the queue's batches are its messages. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { RedisBatcher } from '@batchwise/redis';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type RedisServer, startRedis } from '../../../redis/test/support/redis-server.js';
import { largest, samplesOf } from './support/model-samples.js';
import { model, root, Serving } from './support/serving.js';
import { Working } from './support/working.js';

let redis: RedisServer;
let upstream: Serving;
beforeAll(async () => {
  [redis, upstream] = await Promise.all([startRedis(), Serving.start([model('digits'), '--grpc-port', '0'])]);
});
afterAll(async () => {
  await Serving.endAll();
  await redis.stop();
});

const rowOf = (input: readonly number[]) => [
  Array.from({ length: 8 }, (_, i) => input.slice(8 * i, 8 * i + 8)),
];

test.each([
  ['a model over gRPC', () => `grpc://127.0.0.1:${upstream.grpcPort}/digits`],
  ['a model over REST', () => `http://127.0.0.1:${upstream.port}/v2/models/digits`],
  ['instances and predictions', () => `http://127.0.0.1:${upstream.port}/v1/models/digits:predict`],
])('%s answers those who submit rows', async (name, url) => {
  const queue = name.replaceAll(' ', '-');
  const worker = await Working.worker([url(), '--queue', queue, '--url', redis.url]);
  const batcher = new RedisBatcher<unknown, number[]>({ url: redis.url, queue });
  onTestFinished(() => batcher.destroy());
  const samples = samplesOf('digits').slice(0, 10);
  const answers = await Promise.all(samples.map(({ input }) => batcher.submit(rowOf(input))));
  expect(answers.map(largest)).toEqual(samples.map(({ probabilities }) => largest(probabilities)));
  worker.signal('SIGTERM');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
});

test('a stream of gRPC answers those who submit bytes', async () => {
  const mirror = join(root, 'packages/runners/test/system/upstreams/stream-upstream.mjs');
  const upstreamProcess = spawn(process.execPath, [mirror], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => {
    upstreamProcess.kill();
  });
  const [said] = await once(upstreamProcess.stdout, 'data');
  const port = /listening (\d+)/.exec(String(said))?.[1];
  const url = `grpc-stream://127.0.0.1:${port}/test.Mirror/BatchedReverse`;
  await Working.worker([url, '--queue', 'mirror', '--payload', 'bytes', '--url', redis.url]);
  const batcher = new RedisBatcher<Uint8Array, Uint8Array>({
    url: redis.url,
    queue: 'mirror',
    payload: 'bytes',
  });
  onTestFinished(() => batcher.destroy());
  const answers = await Promise.all(['abc', 'xy'].map((text) => batcher.submit(Buffer.from(text))));
  expect(answers.map((answer) => Buffer.from(answer).toString())).toEqual(['cba', 'yx']);
});
