/** New settings while it works: they count from now on, and no request notices otherwise. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { Load } from './support/load.js';
import { Metrics } from './support/metrics.js';
import { batchSizeIn, expectInferred, inferBody, samplesOf } from './support/model-samples.js';
import { model, Serving } from './support/serving.js';
import { until } from './support/until.js';

afterEach(() => Serving.endAll());

const settings = (maxBatchSize: number | string) => `
runners:
  digits:
    batching:
      max_batch_size: ${maxBatchSize}
      target_latency_ms: 60000
`;

const digits = samplesOf('digits');
const ROWS = 32;

/** More rows than the batches of the first settings hold. */
async function largestBatch(server: Serving): Promise<number> {
  const samples = digits.slice(0, ROWS);
  const answer = await server.client.post('/v2/models/digits/infer', inferBody('digits', samples));
  expectInferred(answer, samples);
  return batchSizeIn(answer);
}

describe.each([
  ['one process', []],
  ['web processes', ['--workers', '2']],
])('%s', (_, workers) => {
  test('applies a changed file, and keeps its settings if the file is invalid', async () => {
    const server = await Serving.start([model('digits'), ...workers], { yaml: settings(4) });
    const load = new Load(server.port, {
      ask: async (client, number) => {
        const samples = digits.slice(number % 40, (number % 40) + 1 + (number % 9));
        const answer = await client.post('/v2/models/digits/infer', inferBody('digits', samples));
        expectInferred(answer, samples);
        return answer;
      },
    });
    await load.more(5);
    expect(await largestBatch(server)).toBe(4);

    server.configure(settings(16));
    server.signal('SIGHUP');
    await until(async () => (await largestBatch(server)) === 16, 'larger batches');
    await server.said('Changed: runners.digits.batching.max_batch_size: 4 → 16');

    // No signal: the file is watched.
    server.configure(settings(6));
    await server.said('Changed: runners.digits.batching.max_batch_size: 16 → 6');
    await until(async () => (await largestBatch(server)) === 6, 'smaller batches');

    server.configure(settings('many'));
    server.signal('SIGHUP');
    await server.said(/error: \S*batchwise\.yaml:5:23: .*many/);
    await server.said('The settings are unchanged.');
    expect(await largestBatch(server)).toBe(6);

    server.configure(settings(8));
    await until(async () => (await largestBatch(server)) === 8, 'a mended file counts again');
    await load.more(5);
    await load.end();

    expect(Object.keys(load.statuses())).toEqual(['200']);
    expect(load.outcomes).toHaveLength(load.sent);
  });
});

test('a setting that needs a restart is logged, and the others apply', async () => {
  const server = await Serving.start([model('digits')], { yaml: settings(4) });
  expect(await largestBatch(server)).toBe(4);
  server.configure(`server:\n  limits:\n    body_bytes: 1kb\n${settings(16)}`);
  server.signal('SIGHUP');
  await until(async () => (await largestBatch(server)) === 16, 'larger batches');
  await server.said(/next restart: server\.limits\.body_bytes: /);
});

// Root cause: a file that nobody had named was looked for again, and its absence taken for no settings at all.
test('without the file that was found at the start, the settings are unchanged', async () => {
  const server = await Serving.start([model('digits')], { yaml: settings(4) });
  rmSync(join(server.folder, 'batchwise.yaml'));
  server.signal('SIGHUP');
  await server.said('The settings are unchanged.');
  expect(await largestBatch(server)).toBe(4);
  server.configure(settings(16));
  await until(async () => (await largestBatch(server)) === 16, 'a file that is back counts again');
});

/** The bounds of the histogram go up to the largest batch there may be. */
async function boundAfterReload(workers: readonly string[]): Promise<number | undefined> {
  const server = await Serving.start([model('digits'), ...workers], { yaml: settings(4) });
  await Metrics.of(server);
  server.configure(settings(16));
  server.signal('SIGHUP');
  await until(async () => (await largestBatch(server)) === 16, 'larger batches');
  return (await Metrics.of(server)).value('batchwise_batch_size_bucket', { runner: 'digits', le: '16' });
}

test('larger batches get their own buckets', async () => {
  expect(await boundAfterReload([])).toBeGreaterThan(0);
});

// The process of a runner does not tell its metrics of new settings, as the one process does in its reload():
// reload() in packages/server/src/processes/runner-process-main.ts only configures the runner, and
// packages/server/src/runner-process.ts calls watchRunner() once. All batches beyond are in +Inf.
test('larger batches get their own buckets in the process of the runner', async () => {
  expect(await boundAfterReload(['--workers', '2'])).toBeGreaterThan(0);
});

// Root cause: settings are read more than once before the server is ready, and a pipe gives them only once. Those of
// `-c <(…)` were then none at all, and a pipe with a name was waited for without end.
test('settings from a pipe apply and are kept', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-pipe-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const pipe = join(folder, 'settings');
  execFileSync('mkfifo', [pipe]);
  const writer = spawn('sh', ['-c', 'printf "%s" "$1" > "$2"', 'sh', settings(4), pipe]);
  onTestFinished(() => void writer.kill());
  const server = await Serving.start([model('digits'), '-c', pipe]);
  expect(await largestBatch(server)).toBe(4);
  server.signal('SIGHUP');
  expect(await largestBatch(server)).toBe(4);
});
