/** Runners that are placed in Redis, behind a server in one process. */
import { fileURLToPath } from 'node:url';
import { RedisProcessor } from '@batchwise/redis';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startChild } from '../../../redis/test/support/child.js';
import { eventually } from '../../../redis/test/support/eventually.js';
import { forThisTest } from '../../../redis/test/support/for-this-test.js';
import { type RedisServer, startRedis } from '../../../redis/test/support/redis-server.js';
import { InferenceClient } from '../grpc/support/inference-client.js';
import { expectProbabilities, inferBody, Queue, SAMPLES, type Sample, Served } from './redis-served.js';

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const [FIRST, SECOND, THIRD] = SAMPLES as readonly [Sample, Sample, Sample];

/** As many levels as a row has dimensions. */
const image = ({ input }: Sample) => [Array.from({ length: 8 }, (_, i) => input.slice(8 * i, 8 * i + 8))];

describe('a model in Redis', () => {
  let served: Served;
  let grpc: InferenceClient;
  const MAX_BATCH_SIZE = 8;

  async function start() {
    const queue = new Queue(redis);
    const yaml = queue
      .yaml()
      .replace('    redis:', `    batching: { max_batch_size: ${MAX_BATCH_SIZE} }\n    redis:`);
    const processor = await queue.processor({ maxBatchSize: MAX_BATCH_SIZE });
    served = await Served.start(yaml);
    grpc = new InferenceClient(served.grpcPort);
    onTestFinished(() => grpc.close());
    return { queue, processor };
  }

  const PROTOCOLS: Readonly<Record<string, (samples: readonly Sample[]) => Promise<number>>> = {
    '/v1': async (samples) => {
      const response = await served.post('/v1/models/digits:predict', { instances: samples.map(image) });
      expect(response.status).toBe(200);
      const { predictions } = (await response.json()) as { predictions: number[][] };
      expectProbabilities(predictions.flat(), samples);
      return Number(response.headers.get('batchwise-batch-size'));
    },
    '/v2': (samples) => served.infer(samples),
    gRPC: async (samples) => {
      const contents = { fp32_contents: samples.flatMap(({ input }) => input) };
      const { response, headers } = await grpc.infer({
        model_name: 'digits',
        inputs: [{ name: 'input', datatype: 'FP32', shape: [samples.length, 1, 8, 8], contents }],
      });
      expectProbabilities(response.outputs[0].contents.fp32_contents, samples);
      return Number(headers.get('batchwise-batch-size')[0]);
    },
  };

  test.each(Object.entries(PROTOCOLS))('answers its samples over %s, alone and at once', async (_, ask) => {
    const { queue, processor } = await start();
    expect(await ask([FIRST])).toBe(1);
    await processor.pause();
    const asked = Promise.all(SAMPLES.map((sample) => ask([sample])));
    await eventually('all to be queued', async () => (await queue.outstanding()) === SAMPLES.length);
    processor.resume();
    const sizes = await asked;
    for (const size of sizes) expect(size).toBeLessThanOrEqual(MAX_BATCH_SIZE);
    expect(Math.max(...sizes)).toBe(MAX_BATCH_SIZE);
  });

  test.each(Object.entries(PROTOCOLS))(
    'answers requests of many rows over %s, however they are cut',
    async (_, ask) => {
      await start();
      const pieces = [2, 3, 7, 8, 9, 17, SAMPLES.length].map((rows) => SAMPLES.slice(0, rows));
      const sizes = await Promise.all(pieces.map((samples) => ask(samples)));
      for (const size of sizes) expect(size).toBeLessThanOrEqual(MAX_BATCH_SIZE);
      expect(sizes.at(-1)).toBe(MAX_BATCH_SIZE);
    },
  );

  test('tells what it takes and gives, from its file', async () => {
    await start();
    const metadata = (await (await served.get('/v2/models/digits')).json()) as {
      platform: string;
      inputs: unknown;
    };
    expect(metadata.platform).toBe('onnxruntime_onnx');
    expect(metadata.inputs).toEqual([{ name: 'input', datatype: 'FP32', shape: [-1, 1, 8, 8] }]);
  });

  test('refuses what the model cannot take before it travels', async () => {
    const queue = new Queue(redis);
    served = await Served.start(queue.yaml());
    const wrong = { inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 4], data: [1, 2, 3, 4] }] };
    const response = await served.post('/v2/models/digits/infer', wrong);
    expect(response.status).toBe(400);
    expect(await queue.outstanding()).toBe(0);
  });

  test('counts requests, and no batches, which are not formed here', async () => {
    await start();
    await Promise.all(SAMPLES.map((sample) => served.infer([sample])));
    const metrics = await (await served.get('/metrics')).text();
    expect(metrics).toContain(
      `batchwise_items_total{runner="digits",outcome="succeeded"} ${SAMPLES.length}\n`,
    );
    expect(metrics).not.toMatch(/batchwise_batches_total\{runner="digits".*\} [1-9]/);
    expect(metrics).not.toMatch(/batchwise_batch_size_count\{runner="digits"\} [1-9]/);
  });
});

test('requests of two servers share a batch', async () => {
  const queue = new Queue(redis);
  const servers = [await Served.start(queue.yaml()), await Served.start(queue.yaml())];
  const asked = servers.map((served, i) => served.infer([SAMPLES[i] as Sample]));
  await eventually('both requests in the queue', async () => (await queue.outstanding()) === 2);
  await queue.processor();
  expect(await Promise.all(asked)).toEqual([2, 2]);
});

test('a full backlog is told by 429 with when to come back, to all servers alike, and what is in it is answered', async () => {
  const queue = new Queue(redis);
  const one = await Served.start(queue.yaml('max_backlog: 2'));
  const other = await Served.start(queue.yaml('max_backlog: 2'));
  const asked = [one.infer([FIRST]), other.infer([SECOND])];
  await eventually('both requests in the queue', async () => (await queue.outstanding()) === 2);
  for (const served of [one, other]) {
    const response = await served.post('/v2/models/digits/infer', inferBody([THIRD]));
    expect(response.status).toBe(429);
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(await response.json()).toMatchObject({ code: 'QUEUE_FULL' });
  }
  const grpc = new InferenceClient(one.grpcPort);
  onTestFinished(() => grpc.close());
  const contents = { fp32_contents: THIRD.input };
  const refused = grpc.infer({
    model_name: 'digits',
    inputs: [{ name: 'input', datatype: 'FP32', shape: [1, 1, 8, 8], contents }],
  });
  await expect(refused).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
  await queue.processor();
  await Promise.all(asked);
});

test('a request with more rows than a batch is in the queue in parts, for several workers to share', async () => {
  const queue = new Queue(redis);
  const yaml = queue.yaml().replace('    redis:', '    batching: { max_batch_size: 8 }\n    redis:');
  const served = await Served.start(yaml);
  const asked = served.infer(SAMPLES.slice(0, 17));
  await eventually('three parts in the queue', async () => (await queue.outstanding()) === 3);
  await queue.processor();
  // In one batch or in several: it depends on how many of the parts the first read finds.
  await asked;
});

test('a request with more parts than the backlog ever has room for is refused as a mistake', async () => {
  const served = await Served.start(
    new Queue(redis)
      .yaml('max_backlog: 2')
      .replace('    redis:', '    batching: { max_batch_size: 4 }\n    redis:'),
  );
  const response = await served.post('/v2/models/digits/infer', inferBody(SAMPLES.slice(0, 9)));
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('a request of 9 rows makes 3 batches of 4');
});

test('what a killed worker held is answered by another', async () => {
  const queue = new Queue(redis);
  const served = await Served.start(queue.yaml());
  const settings = { url: redis.url, queue: queue.name, leaseMs: 1000, isHolding: true };
  const worker = await forThisTest(
    startChild(fixture('redis-worker.mjs'), { args: [JSON.stringify(settings)] }),
  );
  await worker.until<{ ready?: true }>(({ ready }) => ready === true);
  const asked = SAMPLES.slice(0, 5).map((sample) => served.infer([sample]));
  await worker.until<{ batch?: number }>(({ batch }) => batch !== undefined);
  await worker.kill('SIGKILL');
  await queue.processor({ leaseMs: 1000 });
  await Promise.all(asked);
});

test('a request that nobody processes in time is told so', async () => {
  const queue = new Queue(redis);
  const served = await Served.start(queue.yaml());
  const response = await served.post('/v2/models/digits/infer', inferBody([FIRST]), {
    'batchwise-timeout-ms': '100',
  });
  expect(response.status).toBe(504);
  await eventually('an empty queue', async () => (await queue.outstanding()) === 0);
});

test("a request that names no time-out has the runner's", async () => {
  const queue = new Queue(redis);
  const served = await Served.start(queue.yaml().replace('    redis:', '    timeout: 100ms\n    redis:'));
  expect((await served.post('/v2/models/digits/infer', inferBody([FIRST]))).status).toBe(504);
});

test('a client that hangs up takes its request out of the queue', async () => {
  const queue = new Queue(redis);
  const served = await Served.start(queue.yaml());
  const grpc = new InferenceClient(served.grpcPort);
  onTestFinished(() => grpc.close());
  const aborter = new AbortController();
  const contents = { fp32_contents: FIRST.input };
  const inputs = [{ name: 'input', datatype: 'FP32', shape: [1, 1, 8, 8], contents }];
  const asked = grpc.infer({ model_name: 'digits', inputs }, { signal: aborter.signal });
  asked.catch(() => {});
  await eventually('the request in the queue', async () => (await queue.outstanding()) === 1);
  aborter.abort();
  await expect(asked).rejects.toMatchObject({ code: status.CANCELLED });
  await eventually('an empty queue', async () => (await queue.outstanding()) === 0);
});

test('a server that is told to stop waits for the answers to what it accepted', async () => {
  const queue = new Queue(redis);
  const served = await Served.start(queue.yaml());
  const asked = served.infer([FIRST]);
  await eventually('the request in the queue', async () => (await queue.outstanding()) === 1);
  const stopped = served.stop();
  await queue.processor();
  await asked;
  expect(await stopped).toBe(true);
  expect(await redis.cli('KEYS', `batchwise:{${queue.name}}:client:*`)).toBe('');
});

test('a Redis that may throw away what was accepted is refused with the reason', async () => {
  const own = await forThisTest(startRedis({ settings: ['maxmemory-policy allkeys-lru'] }));
  await expect(Served.start(new Queue(own).yaml())).rejects.toThrow(
    /expected maxmemory-policy noeviction, got allkeys-lru/,
  );
});

test('items of a function travel as they are, and errors come back with their code', async () => {
  const yaml = (queue: string) =>
    `server: { port: 0 }\nservice: ${fixture('redis-service.mjs')}\n` +
    `runners: { double: { redis: { queue: ${queue}, url: "${redis.url}" } } }\n`;
  const served = await Served.start(yaml('double'));
  const processor = new RedisProcessor(
    (items: unknown[]) =>
      items.map((item) => (typeof item === 'number' ? { twice: 2 * item } : new TypeError('no number'))),
    { url: redis.url, queue: 'double' },
  );
  await forThisTest(processor);
  const response = await served.post('/double', 21);
  expect([response.status, await response.json()]).toEqual([200, { twice: 42 }]);
  expect(response.headers.get('batchwise-batch-size')).toBe('1');
  expect((await served.post('/double', 'x')).status).toBe(500);
});
