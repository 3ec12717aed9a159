/** `batchwise load` as a user runs it: the built command against a real server. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { batchwise } from '../support/command.js';

let folder: string;
let server: Server;
let url: string;
let received = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'batchwise-load-'));
  writeFileSync(join(folder, 'sample.json'), '[{"a": 1}, {"a": 2}]');
  server = createServer((request, response) => {
    received++;
    request.resume().on('end', () => {
      const [status, headers] = request.url === '/busy' ? [429, {}] : [200, BATCHED];
      response
        .writeHead(status, { 'content-type': 'application/json', ...headers })
        .end('{"label":"setosa"}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
  server.closeAllConnections();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  received = 0;
});

const BATCHED = { 'batchwise-batch-size': '4', 'batchwise-queue-ms': '1', 'batchwise-compute-ms': '2' };

const load = (...args: string[]) => batchwise(['load', ...args], folder);

test('arrivals: a report, files, and the counts of the server', async () => {
  const { exitCode, stdout, stderr } = await load(
    ...[
      `${url}/x`,
      '--data',
      '@sample.json',
      '--rate',
      '100',
      '--time',
      '2s',
      '--target-latency-ms',
      '60000',
    ],
    ...['--ok-json', 'label="setosa"', '--fail-if', 'error_rate > 0%'],
    ...['--json', 'report.json', '--csv', 'run', '--html', 'report.html'],
    ...['--save-trace', 'trace.csv', '--save-curve', 'curve.json'],
  );
  expect(stderr).toMatch(/^Wrote report\.json$/m);
  expect(exitCode).toBe(0);
  expect(stdout).toMatch(/^Goodput [\d.]+\/s within 60,000 ms \(100 % of requests\)/);
  expect(stdout).toContain('POST /x');
  const file = (name: string) => readFileSync(join(folder, name), 'utf8');
  const { total } = JSON.parse(file('report.json'));
  expect(total).toMatchObject({ count: received, ok: received, mean_batch_size: 4 });
  expect(file('run_stats.csv')).toMatch(/^Type,Name,Request Count,Failure Count,/);
  expect(file('run_stats_history.csv')).toMatch(/^Timestamp,User Count,/);
  expect(file('run_failures.csv')).toMatch(/^Method,Name,Error,Occurrences/);
  expect(file('report.html')).toMatch(/^<!doctype html>/i);
  // What was saved is what the planner reads.
  const plan = await batchwise(
    ['plan', '--curve', 'curve.json', '--trace', 'trace.csv', '--target-latency-ms', '50', '--json'],
    folder,
  );
  expect(JSON.parse(plan.stdout).input).toMatchObject({ traffic: 'trace', requests: received });
});

test('a threshold that applies is exit code 3, and rejected requests are no failures', async () => {
  const { exitCode, stdout } = await load(
    ...[`${url}/busy`, '--users', '3', '--time', '1s', '--wait', 'constant(0.1)', '--json', '-'],
    ...['--fail-if', 'error_rate > 0%', '--fail-if', 'rejected_rate > 50%'],
  );
  const { total, verdicts } = JSON.parse(stdout);
  expect(total).toMatchObject({ count: received, rejected: received, failed: 0 });
  expect(verdicts.map((verdict: { is_broken: boolean }) => verdict.is_broken)).toEqual([false, true]);
  expect(exitCode).toBe(3);
});

test('Ctrl-C ends the run with a complete report', async () => {
  const command = fileURLToPath(new URL('../../bin/batchwise.js', import.meta.url));
  const child = spawn(process.execPath, [command, 'load', `${url}/x`, '--users', '2', '--json', '-'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  const closed = once(child, 'close');
  while (received < 10) await once(server, 'request');
  child.kill('SIGINT');
  expect(await closed).toEqual([0, null]);
  expect(JSON.parse(stdout)).toMatchObject({ state: 'ended', total: { count: received, ok: received } });
});
