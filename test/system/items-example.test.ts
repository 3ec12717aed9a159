/** The story of examples/items, as its README tells it: real web processes, real workers, a real Redis. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Child, startChild } from '../../packages/redis/test/support/child.js';
import { eventually } from '../../packages/redis/test/support/eventually.js';
import { forThisTest } from '../../packages/redis/test/support/for-this-test.js';
import { freePort } from '../../packages/redis/test/support/free-port.js';
import { type RedisServer, startRedis } from '../../packages/redis/test/support/redis-server.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const batchwise = `${root}packages/cli/bin/batchwise.js`;
const item = { content: 'string', nested: { key: 'string', values: [1, 5, 2] } };

let redis: RedisServer;
let web: Child;
let url: string;

beforeAll(async () => {
  redis = await startRedis();
  const port = await freePort();
  url = `http://127.0.0.1:${port}`;
  web = startChild(batchwise, {
    args: ['serve', '-c', 'examples/items/batchwise.yaml', '--port', String(port)],
    cwd: root,
    env: { REDIS__HOST: '127.0.0.1', REDIS__PORT: String(redis.port) },
  });
  await eventually('the web processes to want nothing but a worker', async () => {
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    return (await response?.text())?.includes('Not ready: items: the queue items has no live worker.');
  });
});

afterAll(async () => {
  await web?.kill('SIGTERM');
  await redis?.stop();
});

async function startWorker(args: readonly string[] = [], env: Record<string, string> = {}): Promise<Child> {
  const worker = await forThisTest(
    startChild(batchwise, {
      args: ['worker', 'examples/items/service.ts#items', '--queue', 'items', ...args],
      cwd: root,
      env: { REDIS__HOST: '127.0.0.1', REDIS__PORT: String(redis.port), ...env },
    }),
  );
  await eventually('the worker to be ready', () => worker.output.includes('Processes the queue items'));
  return worker;
}

async function post(): Promise<unknown> {
  const response = await fetch(`${url}/items/test/1`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(item),
  });
  const answer = await response.json();
  return response.ok ? answer : { status: response.status, answer };
}

const answered = {
  data: { ...item, nested: { ...item.nested, values_add1: [2, 6, 3] }, name: expect.any(String) },
  elapsed_time: expect.any(Number),
};

test('an item is answered, and the docs page says how to ask', async () => {
  await startWorker();
  expect(await post()).toEqual(answered);
  const docs = (await (await fetch(`${url}/docs.json`)).json()) as { paths: Record<string, unknown> };
  expect(Object.keys(docs.paths)).toContain('/items/test/{item_id}');
});

const said = (worker: Child, text: RegExp) =>
  eventually(`the worker to say ${text}`, () => text.exec(worker.output) ?? undefined);

test('with a window a lone item waits for all of it', async () => {
  const worker = await startWorker([], {
    DYNAMIC_BATCHER__BATCH_SIZE: '64',
    DYNAMIC_BATCHER__BATCH_TIME: '0.5',
  });
  await said(worker, /BatchProcessor start: delay=0\.001, batch_size=64 batch_time=0\.5/);
  expect(await post()).toEqual(answered);
  const [, waited] = await said(worker, /batch start: ([\d.]+)\/0\.5, 1\/64/);
  expect(Number(waited)).toBeGreaterThanOrEqual(0.499); // a window ends early by up to a tick of the timer
});

test('with a window many fill their batches', async () => {
  const worker = await startWorker([], {
    DYNAMIC_BATCHER__BATCH_SIZE: '64',
    DYNAMIC_BATCHER__BATCH_TIME: '3600',
  });
  // Nobody would be answered for an hour if they did not.
  await Promise.all(Array.from({ length: 128 }, post));
  await said(worker, /batch start: [\d.]+\/3600, 64\/64/);
});

test('when one of two workers is killed, what it held is answered by the other', async () => {
  const [one] = await Promise.all([startWorker(['--lease-ms', '1000']), startWorker(['--lease-ms', '1000'])]);
  const answers: Promise<unknown>[] = [];
  for (let round = 0; round < 10; round++) {
    answers.push(...Array.from({ length: 50 }, post));
    if (round === 5) await one?.kill('SIGKILL');
    await answers.at(-1);
  }
  for (const answer of await Promise.all(answers)) expect(answer).toEqual(answered);
});

test('the one command starts everything, prints the figures and stops', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['examples/items/main.js', '0.5'], {
    cwd: root,
  });
  const callers = /^1 caller: \d+ answers, 0 failures.*\n.*\n100 callers: \d+ answers, 0 failures/m;
  expect(stdout.split(/^Adaptive:$/m)).toEqual([
    expect.stringMatching(callers),
    expect.stringMatching(callers),
  ]);
});
