/** Signals end all Python processes of a server, whatever a model does. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { HttpClient, jsonOf, problemIn } from './support/http-client.js';
import { modelPids, pythonEnv, SLOW_TO_LOAD, STUBBORN } from './support/python-models.js';
import { Serving, type ServingOptions } from './support/serving.js';
import { until } from './support/until.js';

afterEach(() => Serving.endAll());

const env = pythonEnv();

/** As a terminal on Ctrl-C: to all processes of the foreground group. */
const interrupt = (server: Serving) => process.kill(-server.pid, 'SIGINT');

/** Also child processes of models. */
async function noProcessIsLeft(server: Serving): Promise<void> {
  await server.isGone();
  await until(() => modelPids(server.folder, /./).length === 0, 'the processes of the models have ended');
}

async function stubborn(args: readonly string[], options: ServingOptions = {}) {
  const server = await Serving.start(['stubborn.py', ...args], {
    env,
    files: { 'stubborn.py': STUBBORN },
    ...options,
  });
  // exec() releases the model before the command line of its child can be read.
  await until(() => modelPids(server.folder, /^sleep\0/).length === 1, 'the child of the model');
  const client = new HttpClient(server.port);
  const answer = client.post('/v1/models/stubborn:predict', { instances: [1] }).finally(() => client.close());
  answer.catch(() => {});
  await until(() => existsSync(join(server.folder, 'began')), 'the model runs the batch');
  return { server, answer };
}

describe.each([
  ['one process', []],
  ['web processes', ['--workers', '2']],
])('%s', (_, workers) => {
  test('Ctrl-C finishes the batches of a model, and ends its process', async () => {
    const server = await Serving.start(['gated.py', ...workers], {
      env,
      files: {
        'gated.py': `
import os, pathlib

def gated(items: list) -> list:
    os.mkfifo("gate")
    pathlib.Path("began").touch()
    open("gate").read()
    return items
`,
      },
    });
    const client = new HttpClient(server.port);
    const answer = client.post('/v1/models/gated:predict', { instances: [7] }).finally(() => client.close());
    await until(() => existsSync(join(server.folder, 'began')), 'the model runs the batch');
    interrupt(server);
    await server.said('Finishing the accepted requests');
    expect(modelPids(server.folder)).toHaveLength(1);
    server.write('gate', '');
    expect(jsonOf(await answer)).toEqual({ predictions: [7] });
    expect(await server.exit).toEqual({ code: 0, signal: null });
    await noProcessIsLeft(server);
  });

  test('a second Ctrl-C ends a model that hangs and ignores signals', async () => {
    const { server, answer } = await stubborn(workers);
    interrupt(server);
    await server.said('Finishing the accepted requests');
    expect(server.hasEnded).toBe(false);
    interrupt(server);
    expect(await server.exit).toEqual({ code: 130, signal: null });
    await expect(answer).rejects.toThrow(/hang up|ECONNRESET/);
    await noProcessIsLeft(server);
  });

  test('after the shutdown timeout one Ctrl-C is enough', async () => {
    const { server, answer } = await stubborn(workers, { yaml: 'server:\n  shutdown_timeout: 500ms\n' });
    interrupt(server);
    expect(problemIn(await answer)).toMatchObject({ status: 503, code: 'DRAINING' });
    expect(await server.exit).toEqual({ code: 1, signal: null });
    await noProcessIsLeft(server);
  });

  test('a model that ends its process slowly does not keep the server from ending', async () => {
    const files = {
      'slow.py': `
import signal, time

class Slow:
    def predict(self, items: list) -> list:
        return items

    def close(self):
        print("closing")
        time.sleep(600)
`,
    };
    const server = await Serving.start(['slow.py', ...workers], { env, files });
    interrupt(server);
    await server.said('slow: closing');
    interrupt(server);
    expect(await server.exit).toEqual({ code: 130, signal: null });
    await noProcessIsLeft(server);
  });

  test('Ctrl-C while models are loading ends their processes', async () => {
    const server = new Serving(['slow.py', 'other.py', '--port', '0', ...workers], {
      env,
      files: { 'slow.py': SLOW_TO_LOAD, 'other.py': 'def other(items: list) -> list:\n    return items\n' },
    });
    await until(() => existsSync(join(server.folder, 'loading')), 'the model is loading');
    interrupt(server);
    expect(await server.exit).toEqual({ code: 0, signal: null });
    // The other model may be loaded already, which is in the log.
    expect(server.stderr).toMatch(/^(?:other: batchwise: the model of .*\n)?SIGINT received\.\n$/);
    await noProcessIsLeft(server);
  });

  test('kill -9 of the server ends the processes of its models', async () => {
    const server = await Serving.start(['idle.py', ...workers], {
      env,
      files: { 'idle.py': 'def idle(items: list) -> list:\n    return items\n' },
    });
    expect(modelPids(server.folder)).toHaveLength(1);
    server.signal('SIGKILL');
    await server.exit;
    await noProcessIsLeft(server);
  });
});
