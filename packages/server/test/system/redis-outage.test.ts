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
const whyNot = async (served: Served) => {
  const { detail } = (await (await served.get('/readyz')).json()) as { detail: string };
  return detail;
};

test('the server is alive and not ready, requests are told so, and it serves again when Redis is back', async () => {
  const own = await forThisTest(startRedis());
  const queue = new Queue(own);
  const served = await Served.start(queue.yaml());
  await queue.processor();
  await served.infer([FIRST]);
  await eventually('the server ready', async () => (await readiness(served)) === 200);
  const grpc = new InferenceClient(served.grpcPort);
  onTestFinished(() => grpc.close());

  await own.kill();
  await eventually('the server not ready', async () => (await readiness(served)) === 503);
  const reason = `Not ready: digits is loading (Cannot connect to Redis at 127.0.0.1:${own.port}: ECONNREFUSED).`;
  await eventually('the reason', async () => (await whyNot(served)) === reason);
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
    expect.stringMatching(/^digits: the connection to Redis is lost; retrying\. ./),
    'digits: connected to Redis.',
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
  const notReady = await ask('/readyz');
  expect(notReady?.status).toBe(503);
  expect(await notReady?.text()).toMatch(
    /digits is loading \(Cannot connect to Redis at [\d.:]+: ECONNREFUSED\)/,
  );
  expect((await ask('/v2/models/digits'))?.status).toBe(503);
  await own.restart();
  const served = await starting;
  expect(logs).toEqual([
    expect.stringMatching(/^digits: waiting for Redis; retrying\. .*ECONNREFUSED/),
    'digits: connected to Redis.',
  ]);
  await queue.processor();
  await served.infer([FIRST]);
  await eventually('the server ready', async () => (await readiness(served)) === 200);
});

test('a server that is told to stop does not wait for Redis', async () => {
  const own = await forThisTest(startRedis());
  const served = await Served.start(new Queue(own).yaml());
  await own.kill();
  await eventually('the server not ready', async () => (await readiness(served)) === 503);
  expect(await served.stop()).toBe(true);
});

// A server was ready without any worker: requests were sent to it, and waited until their deadlines.
test('a server without a live worker says which queue has none, and accepts requests that wait for one', async () => {
  const own = await forThisTest(startRedis());
  const queue = new Queue(own);
  const served = await Served.start(queue.yaml());
  const reason = `Not ready: digits: the queue ${queue.name} has no live worker.`;
  expect(await readiness(served)).toBe(503);
  expect(await whyNot(served)).toBe(reason);
  const waiting = served.infer([FIRST]);
  const processor = await queue.processor({ leaseMs: 1_000 });
  await waiting;
  await eventually('the server ready', async () => (await readiness(served)) === 200);

  await processor.pause();
  await eventually('the server not ready', async () => (await readiness(served)) === 503);
  processor.resume();
  await eventually('the server ready', async () => (await readiness(served)) === 200);

  await processor.close();
  await eventually('the server not ready', async () => (await readiness(served)) === 503);
  expect(await whyNot(served)).toBe(reason);
  // One that was killed said nothing: it counts until its lease has passed.
  const killed = JSON.stringify({ pid: 1, host: 'h', leaseMs: 500 });
  const now = async () => Number((await own.cli('TIME')).split('\n')[0]) * 1000;
  await own.cli('HSET', `batchwise:{${queue.name}}:processors`, 'killed', `${await now()} 5 ${killed}`);
  await eventually('the one that was killed to be silent', async () => (await whyNot(served)) === reason);
});

test('a Redis that begins to evict is told of in the log and by /readyz', async () => {
  const own = await forThisTest(startRedis());
  const queue = new Queue(own);
  const served = await Served.start(queue.yaml());
  await queue.processor();
  await eventually('the server ready', async () => (await readiness(served)) === 200);
  await own.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
  await own.cli('CLIENT', 'KILL', 'TYPE', 'normal');
  const isTold = (text: string) => text.includes('expected maxmemory-policy noeviction, got allkeys-lru');
  await eventually('the log', () => served.logs.filter(isTold).length === 1);
  await eventually('/readyz', async () => isTold(await whyNot(served)));
  await served.infer([SECOND]);
});
