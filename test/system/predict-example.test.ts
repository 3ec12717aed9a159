/** `npm run predict`, with few users, and the programs beside it. Needs the build. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { startChild } from '../../packages/redis/test/support/child.js';
import { eventually } from '../../packages/redis/test/support/eventually.js';
import { forThisTest } from '../../packages/redis/test/support/for-this-test.js';

const folder = fileURLToPath(new URL('../../examples/predict/', import.meta.url));
const batchwise = fileURLToPath(new URL('../../packages/cli/bin/batchwise.js', import.meta.url));
/** A slow machine rejects nothing. */
const env = { BATCHWISE__RUNNERS__BATCHING__TARGET_LATENCY_MS: 'unlimited' };

/** Rejects when the exit code is not 0. */
async function printedBy(program: string, ...flags: string[]): Promise<string> {
  const options = { timeout: 300_000 };
  return (await promisify(execFile)(process.execPath, [`${folder}dist/${program}`, ...flags], options))
    .stdout;
}

test('the story has a row and a plot for both endpoints', async () => {
  const out = await mkdtemp(join(tmpdir(), 'predict-'));
  onTestFinished(() => rm(out, { recursive: true }));
  const printed = await printedBy('main.js', '--users', '20', '--seconds', '1', '--out', out);

  for (const endpoint of ['predict', 'optimized_predict']) {
    const row = printed.split('\n').find((line) => line.startsWith(`| \`/${endpoint}\``));
    const [, , requests, answered, rejected, failed] = (row ?? '').split('|').map(Number);
    // How many of them depends on the machine.
    expect(requests).toBe((answered ?? 0) + (rejected ?? 0) + (failed ?? 0));
    expect(requests).toBeGreaterThan(0);
    expect(await readFile(join(out, `${endpoint}.svg`), 'utf8')).toMatch(
      new RegExp(`^<svg.*POST /${endpoint}.*</svg>\\s*$`, 's'),
    );
    expect(await readFile(join(out, `${endpoint}.html`), 'utf8')).toContain(`/${endpoint}</span></h1>`);
  }
});

test('both endpoints answer alike, the one with batches and the one without', async () => {
  const args = ['serve', `${folder}service.ts`, '--port', '0'];
  const server = await forThisTest(startChild(batchwise, { args, env }));
  const url = await eventually('the server to listen', () => {
    if (!server.isRunning) throw new Error(server.output);
    return /serves .* at (http:\S+)/.exec(server.output)?.[1];
  });
  async function post(path: string): Promise<{ size: number; body: unknown }> {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: '[1, 2, 3]' });
    return { size: Number(response.headers.get('batchwise-batch-size')), body: await response.json() };
  }
  const sizesOf = async (path: string) => {
    const responses = await Promise.all(Array.from({ length: 20 }, () => post(path)));
    for (const { body } of responses) expect(body).toEqual({ prediction: 6 });
    return responses.map(({ size }) => size);
  };
  expect(new Set(await sizesOf('/predict'))).toEqual(new Set([1]));
  // Where this process is slower than the model, requests may arrive one by one: then it tries again.
  let largest = 0;
  for (let round = 0; round < 100 && largest <= 1; round++) {
    largest = Math.max(...(await sizesOf('/optimized_predict')));
  }
  expect(largest).toBeGreaterThan(1);
});

test('rows of many callers are stored in few statements, and an invalid row fails alone', async () => {
  const printed = await printedBy('database.js');
  expect(printed).toMatch(/one INSERT per row: +\d+ rows per second, 5000 statements$/m);
  const [, statements] = /insertBatcher: +\d+ rows per second, (\d+) statements$/m.exec(printed) ?? [];
  expect(Number(statements)).toBeLessThan(5000);
  expect(printed).toMatch(/failed: null value in column "name"/);
  expect(printed).toContain('stored: 9 rows');
});

test('messages are handled in batches, and a malformed message fails alone', async () => {
  const printed = await printedBy('messages.js');
  expect(printed).toMatch(/publishBatcher: \d+ messages per second, \d+ batches$/m);
  expect(printed).toMatch(/one by one: \d+ messages per second\n {2}consume\(\): +\d+ messages per second$/m);
  expect(printed).toContain('failed: Expected a list of numbers in JSON, got malformed.');
  expect(printed).toContain('moved to the dead-letter queue: malformed');
});
