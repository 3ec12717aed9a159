/** Upstreams on a Unix socket: Python processes that serve a model with `batchwise.serve()`. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { createUpstreamRunner, DEFAULT_RUNNER_SETTINGS, predictor } from '../../src/index.js';
import { PYTHON, pythonFile } from '../support/python.js';
import { settingsWith } from '../support/settings.js';
import { until } from '../support/until.js';

const PACKAGE = fileURLToPath(new URL('../../../../python', import.meta.url));

const MODEL = `
import os, sys, batchwise
class Model:
    def predict(self, items):
        if 'exit' in items: os._exit(1)
        return [ValueError('bad item') if item == 'bad' else [item, os.getpid()] for item in items]
batchwise.serve(Model, sys.argv[1])
`;

function socketPath(): string {
  return join(dirname(pythonFile('')), 'model.sock');
}

function startServer(path: string): ChildProcess {
  const child = spawn(PYTHON, [pythonFile(MODEL), path], {
    stdio: 'inherit',
    env: { ...process.env, PYTHONPATH: PACKAGE },
  });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGKILL'))
      await once(child, 'exit');
  });
  return child;
}

async function connected(path: string) {
  const upstream = { ...DEFAULT_RUNNER_SETTINGS.upstream, url: [`unix://${path}`], cooldownMs: 50 };
  const settings = settingsWith({
    upstream,
    concurrency: 2,
    timeoutMs: 60_000,
    batching: { targetLatencyMs: 60_000 },
  });
  const runner = createUpstreamRunner({ name: 'model', settings });
  onTestFinished(() => runner.close({ timeoutMs: 0 }));
  await runner.ready;
  return { runner, rows: predictor(runner) };
}

test('waits for the socket, runs batches, and fails only the faulty item', async () => {
  const path = socketPath();
  const connecting = connected(path);
  startServer(path);
  const { rows, runner } = await connecting;
  expect(runner.platform).toBe('upstream_unix');
  const answers = await Promise.allSettled(['a', 'bad', { b: 1 }].map((item) => rows.predict(item)));
  expect(answers).toMatchObject([
    { value: ['a', expect.any(Number)] },
    { reason: { code: 'HANDLER_FAILED', message: expect.stringMatching(/: ValueError: bad item$/) } },
    { value: [{ b: 1 }, expect.any(Number)] },
  ]);
});

test('connects again after the process was replaced', async () => {
  const path = socketPath();
  const first = startServer(path);
  const { rows, runner } = await connected(path);
  await expect(rows.predict('exit')).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  if (first.exitCode === null) await once(first, 'exit');
  await until(() => runner.state === 'failed', 'the loss of the connection');
  const second = startServer(path);
  await until(() => runner.state === 'ready', 'the new connection');
  expect(await rows.predict('a')).toEqual(['a', second.pid]);
  expect(existsSync(path)).toBe(true);
});
