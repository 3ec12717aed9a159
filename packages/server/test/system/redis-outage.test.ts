/** Runners that are placed in Redis, while Redis is away. */
import { expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../../redis/test/support/eventually.js';
import { forThisTest } from '../../../redis/test/support/for-this-test.js';
import { freePort } from '../../../redis/test/support/free-port.js';
import { startRedis } from '../../../redis/test/support/redis-server.js';
import { InferenceClient } from '../grpc/support/inference-client.js';
import { inferBody, Queue, SAMPLES, type Sample, Served } from './redis-served.js';

const [FIRST, SECOND] = SAMPLES as readonly [Sample, Sample];

const readiness = async (served: Served) => (await served.get('/readyz')).status;

test('the server is alive and not ready, requests are told so, and it serves again when Redis is back', async () => {
  const own = await forThisTest(startRedis());
  const queue = new Queue(own);
  const served = await Served.start(queue.yaml());
  await queue.processor();
  await served.infer([FIRST]);
  expect(await readiness(served)).toBe(200);
  const grpc = new InferenceClient(served.grpcPort);
  onTestFinished(() => grpc.close());

  await own.kill();
  await eventually('the server not ready', async () => (await readiness(served)) === 503);
  expect((await served.get('/livez')).status).toBe(200);
  expect((await grpc.health('')).status).toBe('NOT_SERVING');
  const response = await served.post('/v2/models/digits/infer', inferBody([FIRST]), {
    'batchwise-timeout-ms': '200',
  });
  expect(response.status).toBe(503);

  await own.restart();
  await eventually('the server ready', async () => (await readiness(served)) === 200);
  expect((await grpc.health('')).status).toBe('SERVING');
  await served.infer([SECOND]);
  expect(served.logs).toEqual([
    expect.stringMatching(/^digits: the connection to Redis is lost; it is tried again\. ./),
    'digits: Redis can be reached.',
  ]);
});

test('what was on its way when Redis went is answered by its deadline', async () => {
  const own = await forThisTest(startRedis());
  const queue = new Queue(own);
  const served = await Served.start(queue.yaml());
  const asked = served.post('/v2/models/digits/infer', inferBody([FIRST]), {
    'batchwise-timeout-ms': '5000',
  });
  await eventually('the request in the queue', async () => (await queue.outstanding()) === 1);
  await own.kill();
  expect((await asked).status).toBe(504);
});

test('a server that starts listens, is alive and not ready, and says what it waits for', async () => {
  const own = await forThisTest(startRedis());
  await own.kill();
  const queue = new Queue(own);
  const port = await freePort();
  const logs: string[] = [];
  const starting = Served.start(queue.yaml().replace('port: 0', `port: ${port}`), logs);
  const ask = (path: string) => fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
  await eventually('the server alive', async () => (await ask('/livez'))?.status === 200);
  await eventually('a line in the log', () => logs.length > 0);
  expect((await ask('/readyz'))?.status).toBe(503);
  expect((await ask('/v2/models/digits'))?.status).toBe(503);
  await own.restart();
  const served = await starting;
  expect(logs).toEqual([
    expect.stringMatching(/^digits: waits for Redis; it is tried again\. .*ECONNREFUSED/),
    'digits: Redis can be reached.',
  ]);
  expect(await readiness(served)).toBe(200);
  await queue.processor();
  await served.infer([FIRST]);
});

test('a server that is told to stop does not wait for Redis', async () => {
  const own = await forThisTest(startRedis());
  const served = await Served.start(new Queue(own).yaml());
  await own.kill();
  await eventually('the server not ready', async () => (await readiness(served)) === 503);
  expect(await served.stop()).toBe(true);
});
