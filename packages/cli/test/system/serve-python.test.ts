/** Python models as their users serve them: real processes with real packages. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { InferenceClient } from '../../../server/test/grpc/support/inference-client.js';
import { type Answer, jsonOf, problemIn } from './support/http-client.js';
import { Load } from './support/load.js';
import { Metrics } from './support/metrics.js';
import { batchSizeIn } from './support/model-samples.js';
import { IRIS, modelPids, PAIR, pythonEnv, TEXT } from './support/python-models.js';
import { root, Serving } from './support/serving.js';
import { until } from './support/until.js';

afterEach(() => Serving.endAll());

const env = pythonEnv();

interface Description {
  readonly length: number;
  readonly pid: number;
  readonly batch: number;
}

function describeTexts(server: Serving, texts: readonly string[]): Promise<Answer> {
  return server.client.post('/v1/models/text:predict', { instances: texts.map((text) => ({ text })) });
}

const descriptionsIn = (answer: Answer) => jsonOf<{ predictions: Description[] }>(answer).predictions;

test('a class and a function are served in one process, rows and JSON items in batches', async () => {
  const server = await Serving.start(['iris.py:Iris', 'text.py'], {
    env,
    files: { 'iris.py': IRIS, 'text.py': TEXT },
  });
  expect(server.pids('runner')).toEqual([]);
  expect(modelPids(server.folder)).toHaveLength(2);

  const rows = await server.client.post('/v1/models/iris:predict', {
    instances: [
      [1, 2, 3, 4],
      [5, 6, 7, 8],
    ],
  });
  expect(jsonOf(rows)).toEqual({
    predictions: [
      [4, 6],
      [12, 14],
    ],
  });

  const texts = ['', 'a', 'größer'];
  const answer = await describeTexts(server, texts);
  expect(descriptionsIn(answer).map(({ length, batch }) => [length, batch])).toEqual([
    [0, 3],
    [1, 3],
    [6, 3],
  ]);
  expect(batchSizeIn(answer)).toBe(3);

  const metadata = jsonOf(await server.client.get('/v2/models/text'));
  expect(metadata).toMatchObject({
    platform: 'python',
    inputs: [{ name: 'items', datatype: 'BYTES', shape: [-1] }],
  });
});

test('the API docs show the example of a model, with web processes too', async () => {
  const model = TEXT.replace(
    'def describe',
    '@batchwise.model(example=[{"text": "A great phone"}])\ndef describe',
  );
  const server = await Serving.start(['text.py', '--workers', '2'], { env, files: { 'text.py': model } });
  const document = jsonOf<{ paths: Record<string, unknown> }>(await server.client.get('/docs.json'));
  expect(document.paths['/v1/models/text:predict']).toMatchObject({
    post: {
      requestBody: {
        content: { 'application/json': { example: { instances: [{ text: 'A great phone' }] } } },
      },
    },
  });
});

test('an invalid item fails its request, and not the requests that share its batch', async () => {
  const server = await Serving.start(['text.py'], {
    env,
    files: { 'text.py': TEXT },
    yaml: 'runners: {batching: {policy: window, max_wait_ms: 1000, max_batch_size: 2, target_latency_ms: 60000}}\n',
  });
  const [good, bad] = await Promise.all([
    describeTexts(server, ['good']),
    server.client.post('/v1/models/text:predict', { instances: [{}] }),
  ]);
  expect(descriptionsIn(good)).toEqual([expect.objectContaining({ length: 4, batch: 2 })]);
  expect(problemIn(bad)).toMatchObject({
    status: 400,
    code: 'INVALID_ITEM',
    detail: expect.stringContaining('text is missing'),
  });
});

test('two inputs and two outputs by the Open Inference Protocol, REST and gRPC', async () => {
  const server = await Serving.start(['pair.py', '--grpc-port', '0'], { env, files: { 'pair.py': PAIR } });
  const inputs = [
    { name: 'left', datatype: 'FP32', shape: [2, 2], data: [1, 2, 3, 4] },
    { name: 'right', datatype: 'FP32', shape: [2, 2], data: [0, 5, 9, 9] },
  ];
  const answer = await server.client.post('/v2/models/pair/infer', { inputs });
  expect(jsonOf<{ outputs: unknown }>(answer).outputs).toEqual([
    { name: 'sum', datatype: 'FP32', shape: [2, 2], data: [1, 7, 12, 13] },
    { name: 'larger', datatype: 'BOOL', shape: [2], data: [true, false] },
  ]);

  const client = new InferenceClient(server.grpcPort);
  const { response } = await client.infer({
    model_name: 'pair',
    inputs: inputs.map(({ data, ...input }) => ({ ...input, contents: { fp32_contents: data } })),
    outputs: [{ name: 'larger' }],
  });
  client.close();
  expect(response.outputs).toMatchObject([{ name: 'larger', datatype: 'BOOL', shape: ['2'] }]);
  expect(response.outputs[0].contents.bool_contents).toEqual([true, false]);
});

test('a class with np.ndarray as its only type needs no example', async () => {
  // The result was expected to be FP32 of two dimensions: classes were [[2], [0]] as floats, and texts failed.
  const species = `
import numpy as np

class Classifier:
    def __init__(self):
        self.petals = np.array([1.5, 4.3, 5.6])

    def predict(self, rows: np.ndarray) -> np.ndarray:
        if rows.shape[1] != 4:
            raise ValueError("expected 4 columns")
        return np.abs(rows[:, 2:3] - self.petals).argmin(axis=1)
`;
  const labels = species.replace(/return (.*)/, 'return np.array(["setosa", "versicolor", "virginica"])[$1]');
  const server = await Serving.start(['species.py', 'labels.py', '--grpc-port', '0'], {
    env,
    files: { 'species.py': species, 'labels.py': labels },
  });
  const instances = [
    [6.5, 3, 5.5, 2],
    [5, 3.4, 1.5, 0.2],
  ];
  const predicted = async (model: string) =>
    jsonOf<{ predictions: unknown }>(await server.client.post(`/v1/models/${model}:predict`, { instances }))
      .predictions;
  expect(await predicted('species')).toEqual([2, 0]);
  expect(await predicted('labels')).toEqual(['virginica', 'setosa']);

  const metadata = jsonOf<{ outputs: unknown }>(await server.client.get('/v2/models/species'));
  expect(metadata.outputs).toEqual([
    {
      name: 'output',
      datatype: 'FP32',
      shape: [-1, -1],
      parameters: { any_datatype: true, any_shape: true },
    },
  ]);
  const rows = { name: 'rows', datatype: 'FP64', shape: [2, 4] };
  const answer = await server.client.post('/v2/models/labels/infer', {
    inputs: [{ ...rows, data: instances }],
  });
  expect(jsonOf<{ outputs: unknown }>(answer).outputs).toEqual([
    { name: 'output', datatype: 'BYTES', shape: [2], data: ['virginica', 'setosa'] },
  ]);
  const client = new InferenceClient(server.grpcPort);
  const { response } = await client.infer({
    model_name: 'species',
    inputs: [{ ...rows, contents: { fp64_contents: instances.flat() } }],
  });
  client.close();
  expect(response.outputs).toMatchObject([{ name: 'output', datatype: 'INT64', shape: ['2'] }]);
});

describe.each([
  ['one process', [], 0],
  ['web processes', ['--workers', '2'], 2],
] as const)('%s', (_, workers, runnerProcesses) => {
  test('the replicas are Python processes, and all of them get batches', async () => {
    const server = await Serving.start(['text.py', ...workers], {
      env,
      files: { 'text.py': TEXT },
      yaml: 'runners: {replicas: 2, batching: {max_batch_size: 1, target_latency_ms: 60000}}\n',
    });
    expect(server.pids('runner')).toHaveLength(runnerProcesses);
    const pids = modelPids(server.folder);
    expect(pids).toHaveLength(2);
    const seen = new Set<number>();
    await until(async () => {
      const answers = await Promise.all(['a', 'b', 'c', 'd'].map((text) => describeTexts(server, [text])));
      for (const answer of answers) seen.add(descriptionsIn(answer)[0]?.pid ?? 0);
      return seen.size === 2;
    }, 'both processes have answered');
    expect([...seen].toSorted()).toEqual(pids.toSorted());
    expect((await server.client.get('/readyz')).status).toBe(200);
  });

  test('after kill -9 of the Python process under load, each request succeeds or fails with a code', async () => {
    const server = await Serving.start(['text.py', ...workers], { env, files: { 'text.py': TEXT } });
    const load = new Load(server.port, {
      ask: (client, number) => client.post('/v1/models/text:predict', { instances: [{ text: `${number}` }] }),
    });
    await load.more(5);
    const [pid = 0] = modelPids(server.folder);
    const restarts = async () =>
      (await Metrics.of(server)).value('batchwise_process_restarts_total', { kind: 'model', runner: 'text' });
    expect(await restarts()).toBe(0);
    process.kill(pid, 'SIGKILL');
    await server.said(/^text: .*text\.py: a process of the model ended: killed by SIGKILL/m);
    await load.more(5);
    await load.end();
    expect(load.outcomes).toHaveLength(load.sent);
    expect(Object.keys(load.statuses()).filter((status) => !/^(200|503 UNAVAILABLE)$/.test(status))).toEqual(
      [],
    );
    expect(modelPids(server.folder)).not.toContain(pid);
    expect(await restarts()).toBe(1);
    expect((await server.client.get('/readyz')).status).toBe(200);
  });

  // A restart that hung in its import kept the runner ready: only a process that ended counted as failed.
  test('a restart that hangs makes the server not ready, and requests fail at once', async () => {
    const server = await Serving.start(['once.py', ...workers], {
      env: { ...env, BATCHWISE__RUNNERS__TIMEOUT: '500ms' },
      files: {
        'once.py': `
import os, pathlib, time
started = pathlib.Path(__file__).with_name("started")
if started.exists():
    time.sleep(600)
started.touch()
def predict(items: list) -> list:
    os._exit(1)
`,
      },
    });
    const ask = () => server.client.post('/v1/models/once:predict', { instances: [1] });
    expect((await ask()).status).toBe(503);
    await until(async () => (await server.client.get('/readyz')).status === 503, 'not ready');
    expect(problemIn(await ask())).toMatchObject({ status: 503 });
  });

  test('what a model prints is in the log, with the name of the runner', async () => {
    const server = await Serving.start(['loud.py', ...workers], {
      env,
      files: {
        'loud.py':
          'print("hello\\nworld")\ndef loud(items: list) -> list:\n    print("batch")\n    return items\n',
      },
    });
    await server.said(/^loud: hello\nloud: world$/m);
    await server.client.post('/v1/models/loud:predict', { instances: [1] });
    await server.said(/^loud: batch$/m);
  });

  test('a model that cannot start says why, with the lines of its traceback', async () => {
    const server = new Serving(['broken.py', '--port', '0', ...workers], {
      env,
      files: { 'broken.py': 'import nothing_of_this_name\n' },
    });
    expect(await server.exit).toEqual({ code: 1, signal: null });
    expect(server.stderr).toMatch(
      /^error: broken\.py cannot be served: No module named 'nothing_of_this_name'\. Install it /m,
    );
    expect(server.stderr).toMatch(/^ {2}File ".*broken\.py", line 1/m);
    expect(modelPids(server.folder)).toEqual([]);
  });
});

test('an exception of the model is in the log, and not in the response', async () => {
  const server = await Serving.start(['m.py'], {
    env,
    files: { 'm.py': 'def m(items: list) -> list:\n    raise ValueError("secret " + str(items[0]))\n' },
  });
  const answer = await server.client.post('/v1/models/m:predict', { instances: ['word'] });
  expect(problemIn(answer)).toMatchObject({ status: 500, code: 'HANDLER_FAILED' });
  expect(answer.body.toString()).not.toContain('secret');
  await server.said(/^m: ValueError: secret word$/m);
  expect(server.stderr.match(/^.*in m$/gm)).toEqual([
    expect.stringMatching(/^m: {3}File ".*m\.py", line 2, in m$/),
  ]);
});

test('python() of a service predicts items, with the interpreter next to the service', async () => {
  const service = `
    import { defineService, python } from '@batchwise/server';
    export const service = defineService({
      runners: { text: python<{ text: string }, { length: number }>('models/text.py:describe', { python: ${JSON.stringify(env.BATCHWISE__RUNNERS__PYTHON)} }) },
      routes: (route) => [
        route.post('/lengths', {
          handler: async (texts: string[], { runners }) =>
            (await runners.text.predictMany(texts.map((text) => ({ text })))).map(({ length }) => length),
        }),
      ],
    });
  `;
  const server = await Serving.start(['service.ts'], {
    files: { 'service.ts': service, 'models/text.py': TEXT },
  });
  expect(jsonOf(await server.client.post('/lengths', ['a', 'bc', '']))).toEqual([1, 2, 0]);
  expect(descriptionsIn(await describeTexts(server, ['a', 'b']))).toMatchObject([{ batch: 2 }, { batch: 2 }]);
});

test('a model of a process that was started elsewhere is served through its socket', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-socket-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const socket = join(folder, 'lengths.sock');
  const program = `
import sys
sys.path.insert(0, ${JSON.stringify(join(root, 'python'))})
import batchwise

def lengths(items: list[str]) -> list[dict]:
    return [{"length": len(item) // len(item[:1])} for item in items]

batchwise.serve(lengths, ${JSON.stringify(socket)})
`;
  const model = spawn(env.BATCHWISE__RUNNERS__PYTHON, ['-c', program], { stdio: 'inherit' });
  onTestFinished(() => void model.kill('SIGKILL'));
  const server = await Serving.start([`unix://${socket}`]);
  const path = '/v1/models/lengths:predict';
  const answer = await server.client.post(path, { instances: ['a', 'bcd'] });
  expect(jsonOf(answer)).toEqual({ predictions: [{ length: 1 }, { length: 3 }] });
  expect((await server.client.post(path, { instances: [''] })).status).toBe(500);
  await server.said(/^lengths: ZeroDivisionError: /m);
});
