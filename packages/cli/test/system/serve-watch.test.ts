/** `batchwise serve --watch`: changes of models and services count after a restart on the same port. */
import { afterEach, describe, expect, test } from 'vitest';
import { jsonOf } from './support/http-client.js';
import { modelPids, pythonEnv, SLOW_TO_LOAD } from './support/python-models.js';
import { model, Serving } from './support/serving.js';
import { until } from './support/until.js';

afterEach(() => Serving.endAll());

const env = pythonEnv();

const constant = (value: string, first = '') =>
  `${first}\ndef predict(items: list) -> list:\n    return [${value} for item in items]\n`;

async function predicted(server: Serving): Promise<unknown> {
  const answer = await server.client.post('/v1/models/m:predict', { instances: [0] });
  return jsonOf<{ predictions: unknown[] }>(answer).predictions[0];
}

const readyCount = ({ stderr }: Serving) => stderr.match(/^Ready again at /gm)?.length ?? 0;

async function restarted(server: Serving, times: number): Promise<void> {
  await until(() => readyCount(server) === times, `restart ${times}; it says: ${server.stderr}`);
}

describe.each([
  ['one process', []],
  ['web processes', ['--workers', '2']],
])('%s', (_, workers) => {
  test('a changed model is served, also after a version that cannot start', async () => {
    const server = await Serving.start(['m.py', '--watch', '--grpc-port', '0', ...workers], {
      env,
      files: { 'm.py': constant('1') },
    });
    const { port, grpcPort } = server;
    expect(await predicted(server)).toBe(1);

    server.write('m.py', constant('2'));
    await server.said('m.py changed: reloading …');
    await restarted(server, 1);
    expect(server.stderr).toContain(`Ready again at http://127.0.0.1:${port}.`);
    expect(await predicted(server)).toBe(2);
    expect(server.listeningPorts().toSorted()).toEqual([port, grpcPort].toSorted());

    server.write('m.py', 'def predict(items:\n');
    await server.said(/^error: m\.py cannot be served: m\.py, line 1: /m);
    await server.said('Waiting for a change of the files.');
    await until(() => modelPids(server.folder).length === 0, 'the process of the old version has ended');

    server.write('lib/values.py', 'VALUE = 3\n');
    await server.said('lib/values.py changed: reloading …');
    server.write('m.py', constant('VALUE', 'from lib.values import VALUE'));
    await restarted(server, 2);
    expect(await predicted(server)).toBe(3);

    server.signal('SIGINT');
    expect(await server.exit).toEqual({ code: 0, signal: null });
    await server.isGone();
    await until(() => modelPids(server.folder).length === 0, 'no process is left');
  });

  test('Ctrl-C ends a server that waits for a change', async () => {
    const server = new Serving(['m.py', '--port', '0', '--watch', ...workers], {
      env,
      files: { 'm.py': 'def predict(items:\n' },
    });
    await server.said('Waiting for a change of the files.');
    server.signal('SIGINT');
    expect(await server.exit).toEqual({ code: 0, signal: null });
    await server.isGone();
  });
});

test('accepted requests are finished before the restart', async () => {
  const gated = `
import os, pathlib

def predict(items: list) -> list:
    os.mkfifo("gate")
    open("gate").read()
    return ["old" for item in items]
`;
  const server = await Serving.start(['m.py', '--watch'], { env, files: { 'm.py': gated } });
  const answer = predicted(server);
  await until(() => server.has('gate'), 'the model runs the batch');
  server.write('m.py', constant('"new"'));
  await server.said('m.py changed: reloading …');
  expect(readyCount(server)).toBe(0);
  server.write('gate', '');
  expect(await answer).toBe('old');
  await restarted(server, 1);
  expect(await predicted(server)).toBe('new');
});

test('a change while a model is loading starts it again at once', async () => {
  const server = await Serving.start(['m.py', '--watch'], { env, files: { 'm.py': constant('1') } });
  server.write('m.py', SLOW_TO_LOAD);
  await until(() => server.has('loading'), 'the model is loading');
  server.write('m.py', constant('2'));
  await restarted(server, 1);
  expect(await predicted(server)).toBe(2);
  expect(modelPids(server.folder)).toHaveLength(1);
});

test('a TypeScript service is evaluated again, with the modules next to it', async () => {
  const service = (value: number) => `
    import { defineService, python } from '@batchwise/server';
    import { factor } from './factor.ts';
    export const service = defineService({
      runners: { m: python<unknown, number>('models/m.py') },
      routes: (route) => [
        route.get('/value', { handler: async (_, { runners }) => factor * ${value} * (await runners.m.predict(0)) }),
      ],
    });
  `;
  const server = await Serving.start(['service.ts', '--watch'], {
    env,
    files: {
      'service.ts': service(1),
      'factor.ts': 'export const factor = 1;\n',
      'models/m.py': constant('1'),
    },
  });
  const value = async () => jsonOf(await server.client.get('/value'));
  expect(await value()).toBe(1);
  server.write('service.ts', service(10));
  await restarted(server, 1);
  expect(await value()).toBe(10);
  server.write('factor.ts', 'export const factor = 2;\n');
  await restarted(server, 2);
  expect(await value()).toBe(20);
  server.write('models/m.py', constant('5'));
  await restarted(server, 3);
  expect(await value()).toBe(100);
});

test('other files, and folders that hold no sources, are not watched', async () => {
  const server = await Serving.start(['m.py', '--watch'], { env, files: { 'm.py': constant('1') } });
  for (const file of ['notes.txt', '.venv/lib/a.py', 'node_modules/a.py', '__pycache__/a.py', '.hidden/a.py'])
    server.write(file, 'x = 1\n');
  // Their events come before those of this change.
  server.write('lib/values.py', 'x = 1\n');
  await restarted(server, 1);
  expect(server.stderr.match(/changed: reloading/g)).toHaveLength(1);
  expect(server.stderr).toContain('lib/values.py changed: reloading …');
});

test('a server without sources says that it watches nothing', async () => {
  const server = await Serving.start([model('iris'), '--watch']);
  await server.said('--watch has no effect: there is no Python model and no TypeScript service.');
});

test('without --watch changes do not count', async () => {
  const server = await Serving.start(['m.py'], { env, files: { 'm.py': constant('1') } });
  server.write('m.py', constant('2'));
  expect(await predicted(server)).toBe(1);
  expect(server.stderr).toMatch(/^m: batchwise: the model of m\.py is .*\n$/);
});
