/** Hosts and remote runners over real unix sockets, all in this process, gone after the test. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { RemoteRunner, type RemoteRunnerOptions } from '../../../src/processes/remote-runner.js';
import { RunnerHost, type RunnerHostOptions } from '../../../src/processes/runner-host.js';
import { WIRE } from '../../../src/processes/wire-message.js';
import { frameOfMessages } from './frame-of.js';
import { GatedRunner, SETTINGS } from './gated-runner.js';
import { until } from './until.js';

export function socketFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function hostAt(
  socket: string,
  runner: GatedRunner = new GatedRunner(),
  options: RunnerHostOptions = {},
) {
  const host = new RunnerHost(options);
  host.add(runner, SETTINGS);
  await host.listen(socket);
  onTestFinished(() => host.close());
  return { host, runner };
}

export function remoteTo(sockets: readonly string[], options: Partial<RemoteRunnerOptions> = {}) {
  const remote = new RemoteRunner({ name: 'digits', sockets, ...options });
  onTestFinished(() => remote.close({ timeoutMs: 0 }));
  return remote;
}

/** One host with one gated runner, and a remote runner that is connected to it. */
export async function stage(
  options: { remote?: Partial<RemoteRunnerOptions>; host?: RunnerHostOptions } = {},
) {
  const socket = join(socketFolder(), '0.sock');
  const { host, runner } = await hostAt(socket, new GatedRunner(), options.host);
  const remote = remoteTo([socket], options.remote);
  await remote.ready;
  return { socket, host, runner, remote };
}

/** A remote runner that believes to be connected to a host, of which a test has the raw connections. */
export async function connectedToRawHost(options: Partial<RemoteRunnerOptions> = {}) {
  const socket = join(socketFolder(), '0.sock');
  const connections: Socket[] = [];
  const server = createServer((connection) => {
    connection.on('error', () => {});
    connection.pause();
    connections.push(connection);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  onTestFinished(() => {
    for (const connection of connections) connection.destroy();
    server.close();
  });
  const remote = remoteTo([socket], options);
  await until(() => connections.length === 1);
  connections[0]?.write(
    frameOfMessages([WIRE.runner, { name: 'digits', kind: 'model', platform: 'raw', state: 'ready' }]),
  );
  await remote.ready;
  return { connections, remote };
}
