/** `npm run credit`, with little load, and the two services that it serves. Needs the build. */

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { startChild } from '../../packages/redis/test/support/child.js';
import { eventually } from '../../packages/redis/test/support/eventually.js';
import { forThisTest } from '../../packages/redis/test/support/for-this-test.js';

const folder = fileURLToPath(new URL('../../examples/credit/', import.meta.url));
const batchwise = fileURLToPath(new URL('../../packages/cli/bin/batchwise.js', import.meta.url));
/** A slow machine rejects nothing. */
const env = { BATCHWISE__RUNNERS__BATCHING__TARGET_LATENCY_MS: 'unlimited' };
const applicants = JSON.parse(readFileSync(`${folder}applicants.json`, 'utf8')) as unknown[];

/** Rejects when the exit code is not 0. */
async function story(...flags: string[]): Promise<string> {
  const options = { timeout: 300_000 };
  return (await promisify(execFile)(process.execPath, [`${folder}dist/main.js`, ...flags], options)).stdout;
}

async function decisionsOf(service: string): Promise<unknown[]> {
  const args = ['serve', `${folder}${service}`, '--port', '0'];
  const server = await forThisTest(startChild(batchwise, { args, env }));
  const url = await eventually('the server to listen', () => {
    if (!server.isRunning) throw new Error(server.output);
    return /serves .* at (http:\S+)/.exec(server.output)?.[1];
  });
  const decisions = await Promise.all(
    applicants.map(async (applicant) => {
      const response = await fetch(`${url}/classify`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(applicant),
      });
      const { status } = (await response.json()) as { status: unknown };
      return status; // of a problem, the number of its HTTP status
    }),
  );
  await server.kill('SIGTERM');
  return decisions;
}

test('both services decide alike, the one with batches and the one that blocks', async () => {
  const decisions = await decisionsOf('service.ts');
  expect(decisions).toEqual(['maybe', 'approved', 'declined', 'approved', 'declined']);
  expect(await decisionsOf('blocking-service.ts')).toEqual(decisions);
});

// Two of the five: each of the other stages is one of the services above, with other settings.
test('the story has a row for each stage', async () => {
  const table = await story('--stages', '1,3', '--loads', '10/10', '--seconds', '1');
  const rows = table.split('\n').filter((line) => line.includes(' 10/10 |'));
  expect(rows.map((row) => row.split('|')[1]?.trim())).toEqual(['blocking', '2 workers, 2 models']);
  // Neither rates nor latencies: they depend on the machine.
  for (const row of rows) {
    expect(row).toMatch(
      /^\|[^|]+\| +10\/10 \| +\d+ \|( +[\d.]+ % \|| +– \|){2}( +\d+ ms \|| +– \|){4} +[\d.–]+ \|$/,
    );
  }
});

test('a stage that does not exist is an error', async () => {
  await expect(story('--stages', '6')).rejects.toMatchObject({
    code: 2,
    stderr: "--stages: expected numbers from 1 to 5, got '6'.\n",
  });
});
