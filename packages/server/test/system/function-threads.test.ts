/** Functions of a service on worker threads: what they compute does not keep the server from answering. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { threadId } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load-config.js';
import type { RunningServer } from '../../src/running-server.js';
import { serve } from '../../src/serve.js';

const service = fileURLToPath(new URL('../serve-support/spinning-service.ts', import.meta.url));

let folder: string;
let server: RunningServer;
const logged: string[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-threads-'));
  // However long the machine stands still, nobody is refused for it.
  writeFileSync(join(folder, 'batchwise.yaml'), 'runners: { batching: { target_latency_ms: unlimited } }\n');
  server = await serve({
    load: (runnerNames) => loadConfig({ cwd: folder, flags: { port: 0, service }, runnerNames }),
    log: (line) => logged.push(line),
  });
});

afterAll(async () => {
  expect(await server.stop()).toBe(true);
  rmSync(folder, { recursive: true });
});

async function post(path: string, body: object): Promise<{ status: number; json: Record<string, unknown> }> {
  const answer = await fetch(server.address.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
}

const get = async (path: string) => (await fetch(server.address.url + path)).status;

/** The batch of the runner has begun. */
async function running(runner: string): Promise<void> {
  const sample = new RegExp(`^batchwise_batches_running\\{runner="${runner}"\\} 1$`, 'm');
  const look = async () => sample.test(await (await fetch(`${server.address.url}/metrics`)).text());
  while (!(await look())) await new Promise((resolve) => setImmediate(resolve));
}

// A function ran on the thread that answers requests: while it computed, /livez did not answer.
test('the server answers while a function computes', async () => {
  const file = join(folder, 'answered');
  const spinning = post('/spin', { file });
  await running('spinner');
  // The function ends only after these have been answered.
  expect([await get('/livez'), await get('/readyz'), await get('/metrics')]).toEqual([200, 200, 200]);
  expect((await post('/odd', {})).json).toEqual({ said: 'done' });
  writeFileSync(file, '');
  const { status, json } = await spinning;
  expect(status).toBe(200);
  expect(json.on).not.toBe(threadId);
});

test.each([
  ['an error is that of its batch', 'throw', 500, 'HANDLER_FAILED'],
  ['too few results are a bad result', 'few', 500, 'BAD_RESULT'],
  ['a result that cannot be copied is an error', 'uncloneable', 500, 'HANDLER_FAILED'],
  ["an item's own error keeps its code", 'item', 404, 'NOT_FOUND'],
  ['a thread that ends fails its batch', 'exit', 503, 'UNAVAILABLE'],
])('%s', async (_what, what, status, code) => {
  const answer = await post('/odd', { what });
  expect({ status: answer.status, code: answer.json.code }).toEqual({ status, code });
  // The next batch runs, on a new thread where need be.
  expect(await post('/odd', {})).toEqual({ status: 200, json: { said: 'done' } });
});

test('a thread that ended is in the log', () => {
  expect(logged.join('\n')).toContain('odd: a worker thread ended: exit code 3; a new one is started.');
});

test('answers may be given one by one', async () => {
  expect((await post('/odd', { what: 'one by one' })).json).toEqual({ said: 'answer 0 of 1 for odd' });
});

test('a function that does not end is ended after the time-out of its runner, and another thread serves', async () => {
  expect((await post('/stuck', { file: join(folder, 'never') })).status).toBe(504);
  expect(await get('/livez')).toBe(200);
  const file = join(folder, 'there');
  writeFileSync(file, '');
  // Its time-out is short, and the machine may be slow.
  while ((await post('/stuck', { file })).status !== 200);
});
