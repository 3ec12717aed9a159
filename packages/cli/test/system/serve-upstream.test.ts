/** `batchwise serve` in front of other servers: as its users start it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { jsonOf, problemIn } from './support/http-client.js';
import { expectInferred, inferBody, samplesOf } from './support/model-samples.js';
import { model, Serving } from './support/serving.js';
import { until } from './support/until.js';

afterEach(() => Serving.endAll());

const backend = (grpcPort = 0, port = 0) =>
  Serving.start([
    model('digits'),
    '--grpc-port',
    String(grpcPort),
    ...(port ? ['--port', String(port)] : []),
  ]);

describe('a model of another server', () => {
  test.each<[string, (upstream: Serving) => string, Record<string, string>]>([
    ['gRPC', ({ grpcPort }) => `grpc://127.0.0.1:${grpcPort}/digits`, {}],
    ['REST', ({ port }) => `http://127.0.0.1:${port}/v2/models/digits`, {}],
    [
      'REST in JSON',
      ({ port }) => `http://127.0.0.1:${port}/v2/models/digits`,
      { BATCHWISE__RUNNERS__UPSTREAM__FORMAT: 'json' },
    ],
  ])('is served in batches over %s, with the same answers', async (_, urlOf, env) => {
    const upstream = await backend();
    const server = await Serving.start([urlOf(upstream)], { env });
    const samples = samplesOf('digits');
    const answers = await Promise.all(
      samples.map((sample) => server.client.post('/v2/models/digits/infer', inferBody('digits', [sample]))),
    );
    for (const [i, answer] of answers.entries()) expectInferred(answer, samples.slice(i, i + 1));
    const many = await server.client.post('/v2/models/digits/infer', inferBody('digits', samples));
    expectInferred(many, samples);
    expect(jsonOf(await server.client.get('/v2/models/digits'))).toMatchObject({
      name: 'digits',
      inputs: [{ name: 'input', datatype: 'FP32', shape: [-1, 1, 8, 8] }],
    });
  });

  test('that goes away is told by /readyz, and found again when it is back', async () => {
    const upstream = await backend();
    const { grpcPort } = upstream;
    const server = await Serving.start([], {
      yaml: `runners: {digits: {upstream: {url: 'grpc://127.0.0.1:${grpcPort}', cooldown: 100ms}}}`,
    });
    const isReady = async () => (await server.client.get('/readyz')).status === 200;
    expect(await isReady()).toBe(true);
    upstream.signal('SIGKILL');
    await until(async () => !(await isReady()), 'it is not ready');
    expect(problemIn(await server.client.get('/readyz')).detail).toMatch(/digits is failed/);
    const refused = await server.client.post(
      '/v2/models/digits/infer',
      inferBody('digits', samplesOf('digits').slice(0, 1)),
    );
    expect(problemIn(refused)).toMatchObject({ status: 503, code: 'UNAVAILABLE' });
    expect(Number(refused.headers['retry-after'])).toBeGreaterThanOrEqual(1);
    await server.said(/the upstream grpc:.* does not respond and is ejected: /);
    await backend(grpcPort);
    await until(isReady, 'it is ready again');
    const some = samplesOf('digits').slice(0, 2);
    expectInferred(await server.client.post('/v2/models/digits/infer', inferBody('digits', some)), some);
    await server.said(/responds again/);
  });

  test('is served by web processes around one runner process', async () => {
    const { grpcPort } = await backend();
    const server = await Serving.start([`grpc://127.0.0.1:${grpcPort}/digits`, '--workers', '2']);
    const samples = samplesOf('digits').slice(0, 5);
    const answer = await server.client.post('/v2/models/digits/infer', inferBody('digits', samples));
    expectInferred(answer, samples);
  });

  test('that is not there ends the start, with where it was looked for', async () => {
    const server = new Serving(['grpc://127.0.0.1:1/digits', '--port', '0'], {
      env: { BATCHWISE__RUNNERS__UPSTREAM__START_TIMEOUT: '2s' },
    });
    expect(await server.exit).toMatchObject({ code: 1 });
    expect(server.stderr).toMatch(
      /digits: the upstream grpc:\/\/127\.0\.0\.1:1\/digits was not ready within 2000 ms: .*ECONNREFUSED/,
    );
  });
});

test('a service calls a model and a function of other servers', async () => {
  const { port, grpcPort } = await backend();
  const service = `
    import { defineService, upstream } from '@batchwise/server';
    export const service = defineService({
      runners: {
        model: upstream('grpc://127.0.0.1:${grpcPort}/digits', { batchable: true }),
        rows: upstream('http://127.0.0.1:${port}/v1/models/digits:predict', { batchable: true }),
      },
      routes: (route) => [
        route.post('/both', {
          handler: async (row, { runners }) =>
            Promise.all([runners.model.predict(row), runners.rows.predict(row)]),
        }),
      ],
    });
  `;
  const [sample] = samplesOf('digits');
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-service-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'service.ts');
  writeFileSync(file, service);
  const server = await Serving.start([file]);
  const pixels = sample?.input ?? [];
  const row = [Array.from({ length: 8 }, (_, i) => pixels.slice(8 * i, 8 * i + 8))];
  const answer = await server.client.post('/both', row);
  const [model, rows] = jsonOf<[number[], number[]]>(answer);
  expect(answer.status).toBe(200);
  for (const [i, expected] of (sample?.probabilities ?? []).entries()) {
    expect(model[i]).toBeCloseTo(expected, 4);
    expect(rows[i]).toBeCloseTo(expected, 4);
  }
});
