/** examples/multi-model as its README describes it: the real server with both models, and the command that measures it. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Child, startChild } from '../../packages/redis/test/support/child.js';
import { eventually } from '../../packages/redis/test/support/eventually.js';
import { forThisTest } from '../../packages/redis/test/support/for-this-test.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const main = `${root}examples/multi-model/dist/main.js`;
const batchwise = `${root}packages/cli/bin/batchwise.js`;
const sample = JSON.parse(readFileSync(`${root}examples/multi-model/sample.json`, 'utf8'));
const answer = { species: 'versicolor', digit: 1 };

let server: Child;
let url: string;

beforeAll(async () => {
  server = startChild(batchwise, {
    args: ['serve', 'examples/multi-model/src/service.ts', '--port', '0'],
    cwd: root,
  });
  url = await eventually('the server to listen', () => {
    if (!server.isRunning) throw new Error(`expected a server that runs, got ${server.output}`);
    return /http:\/\/127\.0\.0\.1:\d+/.exec(server.output)?.[0];
  });
});

afterAll(() => server?.kill('SIGTERM'));

interface Answered {
  readonly status: number;
  readonly body: unknown;
}

async function post(route: string, input: object, headers: Record<string, string> = {}): Promise<Answered> {
  const response = await fetch(`${url}${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(input),
  });
  return { status: response.status, body: await response.json() };
}

test.each(['/together', '/in-turn'])('%s gives the answers of both models', async (route) => {
  expect(await post(route, sample)).toEqual({ status: 200, body: answer });
});

test('/partial gives the answers of both models, and no error', async () => {
  expect(await post('/partial', sample)).toEqual({ status: 200, body: { ...answer, errors: [] } });
});

test('an item that one model does not take fails its request alone', async () => {
  const smallImage = { ...sample, image: [0, 1, 0] };
  const [bad, good, partial] = await Promise.all([
    post('/together', smallImage),
    post('/together', sample),
    post('/partial', smallImage),
  ]);
  const message = 'digits: expected 64 numbers, got 3.';
  expect(bad).toMatchObject({ status: 400, body: { code: 'INVALID_ITEM', detail: message } });
  expect(good).toEqual({ status: 200, body: answer });
  expect(partial).toEqual({ status: 200, body: { species: 'versicolor', digit: null, errors: [message] } });
});

test('when one model fails, the call to the other is cancelled', async () => {
  // Alone in its batch, it fails at once; digits takes 30 ms.
  expect((await post('/together', { ...sample, flower: [1] })).status).toBe(400);
  await eventually('a cancelled item of digits', async () => {
    const metrics = await (await fetch(`${url}/metrics`)).text();
    return /batchwise_items_total\{runner="digits",outcome="cancelled"\} [1-9]/.test(metrics);
  });
});

// 504 when the deadline passes, 429 when the server knows beforehand that it cannot be met.
const TOO_LATE = [429, 504];

test('the deadline of a request holds for both models', async () => {
  const headers = { 'batchwise-timeout-ms': '5' };
  expect(TOO_LATE).toContain((await post('/together', sample, headers)).status);
  const { status, body } = await post('/partial', sample, headers);
  expect(status).toBe(200);
  expect(body).toMatchObject({ species: null, digit: null, errors: { length: 2 } });
});

test('one after the other, the second model has what is left of the deadline', async () => {
  // Enough for each of them, 20 and 30 ms, but not for their sum.
  expect(TOO_LATE).toContain((await post('/in-turn', sample, { 'batchwise-timeout-ms': '40' })).status);
});

test('the command prints a row for both ways, and ends', async () => {
  const child = await forThisTest(startChild(main, { args: ['--seconds', '0.3', '--callers', '4'] }));
  expect(await child.exited).toEqual({ code: 0, signal: null });
  for (const name of ['one after the other', 'together']) {
    const row = new RegExp(`^${name} +(\\d+\\.\\d +){2}\\d+ +\\d+\\.\\d +\\d+\\.\\d$`, 'm');
    await eventually(`the row: ${name}`, () => row.test(child.output));
  }
});

// Windows has no signals: kill() would simply end the process.
test.skipIf(process.platform === 'win32')('Ctrl-C stops the server, too', async () => {
  const child = await forThisTest(startChild(main, { args: ['--seconds', '600', '--callers', '1'] }));
  await eventually('the callers to start', () => child.output.includes('requests/s'));
  expect(await child.kill('SIGINT')).toEqual({ code: 130, signal: null });
});
