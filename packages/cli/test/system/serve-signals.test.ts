/** Told to stop while it works: what was accepted is answered, and the exit code says so. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { HttpClient, jsonOf, problemIn } from './support/http-client.js';
import { Load } from './support/load.js';
import { inferBody, type Sample, samplesOf } from './support/model-samples.js';
import { fixture, model, Serving } from './support/serving.js';
import { until } from './support/until.js';

afterEach(() => Serving.endAll());

const digits = samplesOf('digits');

function startGated(args: readonly string[], yaml = ''): Promise<Serving> {
  return Serving.start([fixture('gated-service.ts'), ...args], { yaml });
}

/** A request that is being worked on, and will be until the gate opens. */
async function askGated(server: Serving) {
  const client = new HttpClient(server.port);
  const answer = client.post('/gated', { number: 7 }).finally(() => client.close());
  answer.catch(() => {});
  await until(() => existsSync(join(server.folder, 'began')), 'it is being worked on');
  return { answer };
}

const openGate = (server: Serving) => writeFileSync(join(server.folder, 'open'), '');

function isRefused(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => resolve(true));
    socket.on('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });
}

/** The folder of its sockets, say. */
const leftBehind = (server: Serving) =>
  readdirSync(server.folder).filter((name) => name.startsWith('batchwise-'));

const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve));

describe.each([
  ['one process', []],
  ['web processes', ['--workers', '2']],
])('%s', (_, workers) => {
  test('SIGTERM under load: no accepted request fails', async () => {
    const server = await startGated([model('digits'), ...workers]);
    const { answer: gated } = await askGated(server);
    const load = new Load(server.port, {
      clients: 12,
      ask: (client, number) =>
        number % 2 === 0
          ? client.post('/slow', { number })
          : client.post(
              '/v2/models/digits/infer',
              inferBody('digits', [digits[number % digits.length] as Sample]),
            ),
    });
    await load.more(10);
    load.phase = 'after';
    // So that what was sent before has left this process.
    await turnOfLoop();
    await turnOfLoop();
    server.signal('SIGTERM');
    await server.said('Finishing the accepted requests');
    await until(() => isRefused(server.port), 'nobody is let in any more');
    expect(server.hasEnded).toBe(false);
    openGate(server);
    expect(jsonOf(await gated)).toEqual({ number: 7 });
    expect(await server.exit).toEqual({ code: 0, signal: null });
    await load.end();

    expect(load.outcomes).toHaveLength(load.sent);
    for (const { phase, status, code } of load.outcomes) {
      if (status === 200) continue;
      // Sent when it had been told to stop: a connection may also be closed, or not be had at all.
      if (status === 0) expect(phase).toBe('after');
      else expect([status, code]).toEqual([503, 'DRAINING']);
    }
    await server.isGone();
    expect(leftBehind(server)).toEqual([]);
  });

  test('a second signal stops the server at once', async () => {
    const server = await startGated(workers);
    const { answer: gated } = await askGated(server);
    // As a terminal does on Ctrl-C: to all processes.
    process.kill(-server.pid, 'SIGINT');
    await server.said('Finishing the accepted requests');
    expect(server.hasEnded).toBe(false);
    process.kill(-server.pid, 'SIGINT');
    expect(await server.exit).toEqual({ code: 130, signal: null });
    await expect(gated).rejects.toThrow(/hang up|ECONNRESET/);
    await server.isGone();
    expect(leftBehind(server)).toEqual([]);
  });
});

async function cutShort(workers: readonly string[]): Promise<void> {
  const server = await startGated(workers, 'server:\n  shutdown_timeout: 500ms\n');
  const { answer: gated } = await askGated(server);
  server.signal('SIGTERM');
  expect(problemIn(await gated)).toMatchObject({ status: 503, code: 'DRAINING' });
  expect(await server.exit).toEqual({ code: 1, signal: null });
  // The exit code was all there was to see, with no word on why.
  expect(server.stderr).toContain(
    'Some accepted requests are not finished after server.shutdown_timeout, 500ms.',
  );
  await server.isGone();
  expect(leftBehind(server)).toEqual([]);
}

test('requests fail after the shutdown timeout, and the exit code is 1', () => cutShort([]));

// The supervisor kills a web process after the same time that this one has to give up and tell its clients:
// Supervisor.#stop() in packages/server/src/processes/supervisor.ts, and drain() in web-process.ts. The clients
// see their connections closed.
test('web processes fail requests after the shutdown timeout', () => cutShort(['--workers', '2']));

test('a runner that dies during the drain fails its requests', async () => {
  const server = await startGated(['--workers', '2']);
  const { answer: gated } = await askGated(server);
  server.signal('SIGTERM');
  await server.said('Finishing the accepted requests');
  for (const pid of server.pids('runner')) process.kill(pid, 'SIGKILL');
  expect(problemIn(await gated)).toMatchObject({ status: 503, code: 'UNAVAILABLE' });
  expect((await server.exit).signal).toBe(null);
  await server.isGone();
  expect(leftBehind(server)).toEqual([]);
});

test('a runner that hangs fails its requests and does not block the exit', async () => {
  const server = await startGated(['--workers', '2'], 'server:\n  shutdown_timeout: 500ms\n');
  for (const pid of server.pids('runner')) process.kill(pid, 'SIGSTOP');
  const late = await server.client.post('/slow', { number: 1 }, { 'batchwise-timeout-ms': '50' });
  expect(problemIn(late)).toMatchObject({ status: 504, code: 'DEADLINE_EXCEEDED' });
  server.signal('SIGTERM');
  expect(await server.exit).toEqual({ code: 1, signal: null });
  await server.isGone();
  expect(leftBehind(server)).toEqual([]);
});

// The listener for SIGHUP is taken off when the drain begins (reloadOnChange in packages/cli/src/serve-command.ts),
// and without one SIGHUP ends a process.
test('SIGHUP during the drain does not end it', async () => {
  const server = await startGated([]);
  const { answer: gated } = await askGated(server);
  server.signal('SIGTERM');
  await server.said('Finishing the accepted requests');
  server.signal('SIGHUP');
  openGate(server);
  expect(jsonOf(await gated)).toEqual({ number: 7 });
  expect(await server.exit).toEqual({ code: 0, signal: null });
});

// The listener for SIGHUP comes with the greeting: until then SIGHUP ends the process.
test('SIGHUP during the start does not end it', async () => {
  const server = new Serving([model('iris'), '--port', '0']);
  await until(() => server.stdout.includes('Loading'), 'it starts');
  server.signal('SIGHUP');
  await until(() => server.stdout.includes('Ctrl-C') || server.hasEnded, 'it is ready');
  expect(server.hasEnded).toBe(false);
});

async function endedWhileStarting(): Promise<Serving> {
  const server = new Serving([model('digits'), fixture('gated-service.ts'), '--workers', '2', '--port', '0']);
  await until(() => server.pids('runner').length > 0, 'it has begun');
  server.signal('SIGTERM');
  expect(await server.exit).toEqual({ code: 0, signal: null });
  await server.isGone();
  return server;
}

test('SIGTERM before it is ready ends all processes', async () => {
  await endedWhileStarting();
});

// runServer() in packages/cli/src/serve-command.ts gives up waiting for serve() and leaves what that has started to
// itself: the folder of the sockets stays, and processes that find no supervisor any more complain with a stack.
test('SIGTERM before it is ready leaves no folder and no error', async () => {
  const server = await endedWhileStarting();
  expect({ left: leftBehind(server), stderr: server.stderr }).toEqual({
    left: [],
    stderr: 'SIGTERM received.\n',
  });
});

// onnxruntime for Linux reports to its makers unless ORT_DISABLE_TELEMETRY is set before it is loaded, and writes
// what it is about to report to the folder for temporary files; packages/runners/src/onnx-model.ts does not set it.
test('nothing is written down for the makers of the runtime', async () => {
  const server = await Serving.start([model('iris')]);
  expect(readdirSync(server.folder)).toEqual([]);
});
