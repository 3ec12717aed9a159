/** Python models behind a real Redis: workers run the batches, servers and other clients send the items. */
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { RedisBatcher } from '@batchwise/redis';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type RedisServer, startRedis } from '../../../redis/test/support/redis-server.js';
import { jsonOf, problemIn } from './support/http-client.js';
import { IRIS, modelPids, pythonEnv, pythonWithPackages, STUBBORN, TEXT } from './support/python-models.js';
import { root, Serving } from './support/serving.js';
import { until } from './support/until.js';
import { Working } from './support/working.js';

let redis: RedisServer;

beforeAll(async () => {
  redis = await startRedis();
});

afterEach(() => Serving.endAll());
afterAll(() => redis.stop());

/** With the interpreter in `.venv` next to the model. */
function workerOf(
  what: string,
  queue: string,
  files: Record<string, string>,
  ...flags: string[]
): Promise<Working> {
  return Working.worker([what, '--queue', queue, '--url', redis.url, ...flags], {
    files,
    prepare: (folder) => {
      mkdirSync(join(folder, '.venv/bin'), { recursive: true });
      symlinkSync(pythonWithPackages(), join(folder, '.venv/bin/python'));
    },
  });
}

function client<I, R>(queue: string): RedisBatcher<I, R> {
  const batcher = new RedisBatcher<I, R>({ url: redis.url, queue });
  onTestFinished(() => batcher.destroy());
  return batcher;
}

test('a worker runs items in batches, and an invalid item fails alone', async () => {
  const worker = await workerOf(
    'text.py:describe',
    'texts',
    { 'text.py': TEXT },
    '--batch-time',
    '0.5',
    '-bs',
    '3',
  );
  const texts = client<object, { length: number; batch: number }>('texts');
  const [invalid, first, last] = await Promise.allSettled(
    [{}, { text: 'a' }, { text: 'abc' }].map((item) => texts.submit(item)),
  );
  expect(first).toMatchObject({ value: { length: 1 } });
  expect(invalid).toMatchObject({ reason: { code: 'INVALID_ITEM', message: 'text is missing' } });
  expect(last).toMatchObject({ value: { length: 3 } });
  worker.signal('SIGTERM');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  expect(modelPids(worker.folder)).toEqual([]);
});

test('a server with a queue knows the signature, and its requests run on a worker', async () => {
  const worker = await workerOf('iris.py', 'flowers', { 'iris.py': IRIS }, '--payload', 'msgpack');
  const server = await Serving.start(['iris.py'], {
    env: { ...pythonEnv(), BATCHWISE__RUNNERS__REDIS__URL: redis.url },
    files: { 'iris.py': IRIS },
    yaml: 'runners: {iris: {redis: {queue: flowers}, batching: {target_latency_ms: 60000}}}\n',
  });
  // The model was loaded once for its signature.
  expect(modelPids(server.folder)).toEqual([]);
  const answer = await server.client.post('/v1/models/iris:predict', {
    instances: [
      [1, 2, 3, 4],
      [0, 0, 1, 1],
    ],
  });
  expect(jsonOf(answer)).toEqual({
    predictions: [
      [4, 6],
      [1, 1],
    ],
  });
  const wrong = await server.client.post('/v1/models/iris:predict', { instances: [[1, 2]] });
  expect(problemIn(wrong)).toMatchObject({ status: 400 });
  expect(worker.batches).toHaveLength(1);
});

// A worker showed an error only if it failed a whole batch, and neither a client nor a server gets a traceback.
test('the traceback of an exception is in the log of the worker', async () => {
  const model = 'def raises(items: list) -> list:\n    raise ValueError("secret " + items[0])\n';
  const worker = await workerOf('raises.py', 'raising', { 'raises.py': model });
  const error = await client('raising')
    .submit('word')
    .catch((reason: Error) => reason);
  expect(error).toMatchObject({ code: 'HANDLER_FAILED' });
  await worker.said(/^ {2}File ".*raises\.py", line 2, in raises$/m);
  await worker.said(/^ValueError: secret word$/m);
});

test('a runner of a service with two processes runs two batches at a time', async () => {
  const service = `
    import { defineService, python } from '@batchwise/server';
    export const service = defineService({
      runners: { text: python('models/text.py', { replicas: 2, python: '.venv', batching: { maxBatchSize: 1 } }) },
      routes: () => [],
    });
  `;
  const worker = await workerOf('service.ts#text', 'two', { 'service.ts': service, 'models/text.py': TEXT });
  expect(modelPids(worker.folder)).toHaveLength(2);
  const texts = client<object, { pid: number }>('two');
  const seen = new Set<number>();
  await until(async () => {
    for (const { pid } of await texts.submitMany(Array.from({ length: 8 }, () => ({ text: '' }))))
      seen.add(pid);
    return seen.size === 2;
  }, 'both processes have run batches');
});

test('the function of the guide for users of dynamic_batcher runs', async () => {
  // The guide sent users of a Python package to a handler in TypeScript.
  const guide = readFileSync(join(root, 'docs/guides/coming-from-dynamic-batcher.md'), 'utf8');
  const [, model = ''] = /```python\n([\s\S]*?)```/.exec(guide) ?? [];
  expect(guide).toContain('npx batchwise worker model.py --queue items\n');
  await workerOf('model.py', 'items', { 'model.py': model });
  expect(await client<number, number>('items').submit(1)).toBe(2);

  const [, yaml = ''] = /<<'END'\n([\s\S]*?)END\n/.exec(guide) ?? [];
  expect(guide).toContain('npx batchwise worker model.py --queue rows --payload msgpack');
  await workerOf('model.py', 'rows', { 'model.py': model }, '--payload', 'msgpack');
  const server = await Serving.start(['model.py'], {
    env: { ...pythonEnv(), BATCHWISE__RUNNERS__REDIS__URL: redis.url },
    files: { 'model.py': model },
    yaml,
  });
  const answer = await server.client.post('/v1/models/model:predict', { instances: [1] });
  expect(jsonOf(answer)).toEqual({ predictions: [2] });
});

test('flags set the interpreter, the processes and their devices', async () => {
  // There were none: a worker of a file ran one process, with the interpreter that it found.
  const model = `
import os, sys

def describe(items: list) -> list:
    return [[sys.executable, os.environ.get("CUDA_VISIBLE_DEVICES")] for _ in items]
`;
  const worker = await Working.worker(
    [
      ...['model.py', '--queue', 'devices', '--url', redis.url, '--max-batch-size', '1'],
      ...['--python', 'bin/python3', '--replicas', '2', '--gpu', '1,3'],
    ],
    {
      files: { 'model.py': model },
      env: { CUDA_VISIBLE_DEVICES: '' },
      prepare: (folder) => {
        mkdirSync(join(folder, 'bin'));
        symlinkSync(pythonWithPackages(), join(folder, 'bin/python3'));
      },
    },
  );
  expect(modelPids(worker.folder)).toHaveLength(2);
  const models = client<number, [string, string]>('devices');
  const seen = new Map<string, string>();
  await until(async () => {
    for (const [python, device] of await models.submitMany(Array.from({ length: 8 }, (_, index) => index)))
      seen.set(device, python);
    return seen.size === 2;
  }, 'both processes have run batches');
  expect([...seen.keys()].sort()).toEqual(['1', '3']);
  expect(new Set(seen.values())).toEqual(new Set([join(worker.folder, 'bin/python3')]));
});

test('a second Ctrl-C returns the items of a model that hangs, and ends its process', async () => {
  const worker = await workerOf('stubborn.py', 'stubborn', { 'stubborn.py': STUBBORN });
  const answer = client<number, number>('stubborn').submit(1);
  answer.catch(() => {});
  await until(() => worker.batches.length === 1, 'the worker has the item');
  worker.signal('SIGINT');
  await worker.said('Finishing its items');
  worker.signal('SIGINT');
  expect(await worker.exit).toEqual({ code: 130, signal: null });
  await until(() => modelPids(worker.folder, /./).length === 0, 'no process is left');
});

// Root cause: a worker without a live process went on fetching, and failed all items that another worker could have run.
test('a worker whose model cannot restart fetches no items', async () => {
  const model = `
import os, pathlib
marker = pathlib.Path(__file__).with_name("broken")
if marker.exists():
    os._exit(3)
def echo(items: list) -> list:
    if -1 in items:
        marker.touch()
        os.kill(os.getpid(), 9)
    return items
`;
  const worker = await workerOf('echo.py', 'broken', { 'echo.py': model });
  const batcher = client<number, number>('broken');
  expect(await batcher.submit(-1).catch(({ code }) => code)).toBe('UNAVAILABLE');
  await worker.said('The backend is unavailable. Fetching no items from the queue until it answers.');
  await workerOf('echo.py', 'broken', { 'echo.py': model });
  const items = Array.from({ length: 500 }, (_, i) => i);
  expect(await Promise.all(items.map((item) => batcher.submit(item)))).toEqual(items);
});

test('a model that cannot be loaded is an error with its reason', async () => {
  const missing = new Working(['worker', 'none.py', '--queue', 'x', '--url', redis.url]);
  expect(await missing.exit).toEqual({ code: 1, signal: null });
  expect(missing.stderr).toMatch(/^error: none\.py cannot be served: there is no such file\.$/m);
});
