/** Web processes around one copy of each runner: one server to its clients, whichever of them dies. */
import { existsSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { InferenceClient } from '../../../server/test/grpc/support/inference-client.js';
import { HttpClient } from './support/http-client.js';
import { Load } from './support/load.js';
import { Metrics } from './support/metrics.js';
import {
  batchSizeIn,
  expectInferred,
  expectProbabilities,
  inferBody,
  type Sample,
  samplesOf,
  shapeOf,
} from './support/model-samples.js';
import { askWhere, type Place, placeIn, placesLoad, placesOf } from './support/places.js';
import { fixture, model, Serving } from './support/serving.js';
import { until } from './support/until.js';

const CROWD = 8;
const YAML = `
runners:
  crowd:
    batching: { policy: window, max_batch_size: ${CROWD}, max_wait_ms: 3600000, target_latency_ms: 3600000 }
`;

const digits = samplesOf('digits');
const sampleOf = (number: number) => digits[number % digits.length] as Sample;

describe('two web processes', () => {
  let server: Serving;

  beforeAll(async () => {
    const args = [model('digits'), fixture('places-service.ts'), '--workers', '2', '--grpc-port', '0'];
    server = await Serving.start(args, { yaml: YAML });
  });

  afterAll(() => Serving.endAll());

  const restarts = async (kind: string, runner = '') =>
    (await Metrics.of(server)).value('batchwise_process_restarts_total', { kind, runner }) ?? 0;

  /** Over as many connections of their own. */
  const atOnce = <T>(count: number, ask: (client: HttpClient, number: number) => Promise<T>) =>
    Promise.all(
      Array.from({ length: count }, async (_, number) => {
        const client = new HttpClient(server.port, { connections: 1 });
        return ask(client, number).finally(() => client.close());
      }),
    );

  test('stand around one process for each runner', () => {
    expect(server.pids('web')).toHaveLength(2);
    expect(server.pids('runner')).toHaveLength(4);
  });

  test('are named in the list of processes', () => {
    for (const [kind, name] of [
      ['web', '0'],
      ['web', '1'],
      ['runner', 'digits/0'],
    ] as const) {
      expect(server.pids(kind, `${name}\0`)).toHaveLength(1);
    }
  });

  test('give the answers that one gives', async () => {
    await atOnce(16, async (client, number) => {
      for (let i = number; i < digits.length; i += 16) {
        const samples = [sampleOf(i)];
        expectInferred(await client.post('/v2/models/digits/infer', inferBody('digits', samples)), samples);
      }
    });
    expectInferred(await server.client.post('/v2/models/digits/infer', inferBody('digits', digits)), digits);
    const grpc = new InferenceClient(server.grpcPort);
    try {
      const { response } = await grpc.infer({
        model_name: 'digits',
        inputs: [
          {
            name: 'input',
            datatype: 'FP32',
            shape: shapeOf('digits', digits),
            contents: { fp32_contents: digits.flatMap(({ input }) => input) },
          },
        ],
      });
      expectProbabilities(response.outputs[0].contents.fp32_contents, digits);
    } finally {
      grpc.close();
    }
  });

  test('fill batches together', async () => {
    const answers = await atOnce(CROWD, (client, number) => client.post('/crowd', { number }));
    const places = answers.map((answer) => placeIn(answer));
    // A batch only leaves when it is full, and neither web process had enough for that.
    expect(answers.map(batchSizeIn)).toEqual(Array(CROWD).fill(CROWD));
    expect(places.map(({ company }) => company)).toEqual(Array(CROWD).fill(CROWD));
    expect(new Set(places.map(({ web }) => web)).size).toBe(2);
    expect(new Set(places.map(({ runner }) => runner)).size).toBe(1);
  });

  test('a runner that is killed costs its callers an error at once, and nobody else anything', async () => {
    const load = placesLoad(server);
    const other = new Load(server.port, {
      clients: 2,
      ask: (client, number) =>
        client.post('/v2/models/digits/infer', inferBody('digits', [sampleOf(number)])),
    });
    await load.more(20);
    const [{ runner }] = placesOf(load) as [Place];
    const before = await Metrics.of(server);
    process.kill(runner, 'SIGKILL');
    await load.more(20);
    await other.more(5);
    await Promise.all([load.end(), other.end()]);

    expect(load.outcomes).toHaveLength(load.sent);
    expect(Object.keys(load.statuses()).filter((key) => !/^(200|503 UNAVAILABLE)$/.test(key))).toEqual([]);
    expect(Object.keys(other.statuses())).toEqual(['200']);
    expect(new Set(placesOf(load).map((place) => place.runner)).size).toBe(2);
    expect(await restarts('runner', 'where')).toBe(1);
    expect((await Metrics.of(server)).shrunkSince(before)).toEqual([]);
    expect((await server.client.get('/readyz')).status).toBe(200);
  });

  test('a web process that is killed takes its connections along, and is replaced', async () => {
    const load = placesLoad(server);
    await load.more(20);
    const [{ web }] = placesOf(load) as [Place];
    const survivor = server.pids('web').find((pid) => pid !== web);
    let last = await Metrics.of(server);
    process.kill(web, 'SIGKILL');
    await until(async () => {
      const now = await Metrics.of(server).catch(() => undefined);
      if (now === undefined) return false; // the connection was one of those
      expect(now.shrunkSince(last)).toEqual([]);
      last = now;
      return now.value('batchwise_process_restarts_total', { kind: 'web', runner: '' }) === 1;
    }, 'the restart is counted');
    load.phase = 'after';
    await load.more(20);
    await until(async () => {
      const places = (await atOnce(4, askWhere)).map(placeIn);
      return places.some((place) => place.web !== survivor && place.web !== web);
    }, 'a new web process answers');
    await load.end();

    expect(load.outcomes).toHaveLength(load.sent);
    const lost = load.outcomes.filter(({ status }) => status !== 200);
    expect(lost.map(({ status }) => status)).toEqual(Array(lost.length).fill(0));
    // Until its end is noticed, a client who connects again may be sent to the dead process once more.
    expect(lost.map(({ phase }) => phase)).toEqual(Array(lost.length).fill('before'));
    // Each client had one connection: half of them to the one that is no more.
    const losers = new Set(lost.map(({ client }) => client));
    expect(losers.size).toBeGreaterThan(0);
    expect(losers.size).toBeLessThan(8);
    expect(server.pids('web')).toHaveLength(2);
    expect(new Set(placesOf(load).map(({ runner }) => runner)).size).toBe(1);
  });

  test('a client that hangs up is gone for the runner too', async () => {
    const began = join(server.folder, 'began');
    const aborted = join(server.folder, 'aborted');
    const asked = request({ host: '127.0.0.1', port: server.port, method: 'POST', path: '/held' });
    asked.on('error', () => {});
    asked.setHeader('content-type', 'application/json');
    asked.end(JSON.stringify({ number: 1 }));
    await until(() => existsSync(began), 'it is being worked on');
    asked.destroy();
    await until(() => existsSync(aborted), 'the work is called off');
    await until(async () => {
      const metrics = await Metrics.of(server);
      return metrics.value('batchwise_items_total', { runner: 'held', outcome: 'cancelled' }) === 1;
    }, 'it is counted as cancelled');
  });

  test('what a killed process was working on is in flight no more', async () => {
    const inFlight = async () => (await Metrics.of(server)).value('batchwise_in_flight', { runner: 'held' });
    const pidOf = () => Number(readFileSync(join(server.folder, 'began'), 'utf8').trim().split('\n').at(-1));
    const asked = server.client.post('/held', { number: 2 });
    await until(async () => (await inFlight()) === 1, 'it is in flight');
    process.kill(pidOf(), 'SIGKILL');
    expect((await asked).status).toBe(503);
    await until(async () => (await restarts('runner', 'held')) === 1, 'the restart is counted');
    await until(() => server.pids('runner').length === 4, 'the runner is back');
    expect((await inFlight()) ?? 0).toBe(0);
  });

  // The last: a new connection may still be handed to the one that is no more.
  test('what a killed web process had asked for is called off', async () => {
    const client = new HttpClient(server.port, { connections: 1 });
    const { web } = placeIn(await askWhere(client, 1));
    await until(async () => (await client.get('/readyz')).status === 200, 'all runners are there');
    const lines = (name: string) => readFileSync(join(server.folder, name), 'utf8').split('\n').length;
    const before = { began: lines('began'), aborted: lines('aborted') };
    const asked = client.post('/held', { number: 3 });
    asked.catch(() => {});
    await until(() => lines('began') > before.began, 'it is being worked on');
    process.kill(web, 'SIGKILL');
    await expect(asked).rejects.toThrow();
    await until(() => lines('aborted') > before.aborted, 'the work is called off');
    client.close();
  });
});

describe('two copies of a runner', () => {
  afterEach(() => Serving.endAll());

  test('share the work, and one does it when the other dies', async () => {
    const server = await Serving.start([fixture('places-service.ts')], {
      yaml: 'runners:\n  where:\n    replicas: 2\n',
    });
    const load = placesLoad(server);
    const lately = () =>
      new Set(placesOf(load, Math.max(0, load.outcomes.length - 40)).map(({ runner }) => runner));
    await until(() => lately().size === 2, 'both get work');
    const both = lately();
    const [killed] = both;
    process.kill(killed as number, 'SIGKILL');
    await until(() => [...lately()].some((pid) => !both.has(pid)), 'a new one gets work');
    await load.end();
    expect(load.outcomes).toHaveLength(load.sent);
    const failed = load.outcomes.filter(({ status }) => status !== 200);
    for (const { status, code } of failed) expect([status, code]).toEqual([503, 'UNAVAILABLE']);
    // Only what the dead one held: there was always somebody to ask.
    expect(failed.length).toBeLessThanOrEqual(8);
  });

  test('can be asked for in code', async () => {
    const server = await Serving.start([fixture('replicas-service.ts')]);
    expect(server.pids('runner')).toHaveLength(2);
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => askWhere(server.client, i)));
    expect(new Set(answers.map((answer) => placeIn(answer).runner)).size).toBe(2);
  });

  // With port 0: when the last web process ends, the cluster closes the port, and the next one asks for any that
  // is free again. ManyProcesses in packages/server/src/many-processes.ts passes the port on as it was set, not as
  // it was found at the first start.
  test('the one web process around them comes back where it was', async () => {
    const server = await Serving.start([fixture('replicas-service.ts')], {
      yaml: 'runners:\n  where:\n    replicas: 2\n',
    });
    const [web] = server.pids('web') as [number];
    process.kill(web, 'SIGKILL');
    await server.said('; restart in');
    await until(() => server.listeningPorts().length > 0, 'it listens again');
    expect(server.listeningPorts()).toEqual([server.port]);
    expect((await askWhere(server.client, 1)).status).toBe(200);
  });
});
