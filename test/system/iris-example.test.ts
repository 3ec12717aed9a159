/** `npm run iris`: a real process with the real model. Needs the build. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const main = fileURLToPath(new URL('../../examples/iris/dist/main.js', import.meta.url));

test('requests in parallel form batches, and a latency that cannot be met is answered with 429', async () => {
  // Rejects when the exit code is not 0.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [main], {
    // A slow machine rejects nothing, until the program itself sets the latency.
    env: { ...process.env, BATCHWISE__RUNNERS__IRIS_CLF__BATCHING__MAX_LATENCY_MS: 'unlimited' },
    timeout: 300_000,
    killSignal: 'SIGKILL',
  });

  expect(stderr).toBe('');
  expect(stdout).toContain('"species":"virginica"');
  expect(stdout).toMatch(/^ {2}2000 answered, 0 rejected, /m);
  expect(stdout).toContain('2000 of 2000 answers have the expected species');

  const batches = Number(/^ {2}(\d+) batches, /m.exec(stdout)?.[1]);
  expect(batches).toBeGreaterThan(0);
  expect(batches).toBeLessThan(2000);
  const bars = [...stdout.matchAll(/^ +\d+(?:-\d+)? {2}█* +(\d+)$/gm)].map(([, count]) => Number(count));
  expect(bars).toHaveLength(8); // 1, 2, 3-4 … 65-100
  expect(bars.reduce((sum, count) => sum + count, 0)).toBe(batches);

  expect(stdout).toMatch(/^ {2}HTTP 429 Too Many Requests\n {2}retry-after: [1-9]\d*$/m);
  expect(stdout).toContain('content-type: application/problem+json');
  expect(stdout).toContain('"type": "urn:batchwise:error:OVERLOADED"');
  expect(stdout).toContain('The server has stopped.');
});
