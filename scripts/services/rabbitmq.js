/**
 * A RabbitMQ broker for tests, benchmarks and examples: its own temporary folder, free ports on 127.0.0.1, no plugins.
 * Nothing is left of it after `stop()`, or after the process that started it has ended.
 */
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findCommand, findProgram, testPrograms } from '../test-programs.js';
import { freePorts, spawnGuarded } from './guarded-process.js';

/**
 * @typedef {object} RabbitMq
 * @property {string} url For `connect(url)` of amqplib.
 * @property {number} port
 * @property {() => Promise<void>} stop
 */

const PORT_ATTEMPTS = 5;
const ACCEPTING_INTERVAL_MS = 20;
const ACCEPTING_ATTEMPTS = 3000;

/**
 * Resolves when the broker accepts connections.
 *
 * @returns {Promise<RabbitMq>}
 */
export async function startRabbitMq() {
  const server = serverScript();
  for (let attempt = 1; ; attempt += 1) {
    const [port = 0, distributionPort = 0, epmdPort = 0] = await freePorts(3);
    try {
      return await start(server, { port, distributionPort, epmdPort });
    } catch (error) {
      if (!/eaddrinuse|address in use/i.test(String(error)) || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/**
 * The broker needs Erlang's port mapper, and leaves one behind if it has to start it. So it finds one on a port of
 * its own.
 *
 * @param {string} server
 * @param {{ port: number, distributionPort: number, epmdPort: number }} ports
 * @returns {Promise<RabbitMq>}
 */
async function start(server, { port, distributionPort, epmdPort }) {
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-rabbitmq-'));
  /** @type {import('./guarded-process.js').GuardedProcess[]} */
  const processes = [];
  const stop = async () => {
    for (const process of processes) await process.kill();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const { bin, epmd } = erlang(server, folder);
    const settings = {
      'listeners.tcp.1': `127.0.0.1:${port}`,
      'log.file': 'false',
      'log.console': 'true',
      'log.console.level': 'info',
      'disk_free_limit.absolute': '1MB',
    };
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
    writeFileSync(join(folder, 'rabbitmq.conf'), lines.join(''));
    writeFileSync(join(folder, 'enabled_plugins'), '[].\n');
    const env = {
      PATH: `${bin}:${process.env.PATH}`,
      // Erlang writes its cookie there.
      HOME: folder,
      ERL_EPMD_ADDRESS: '127.0.0.1',
      ERL_EPMD_PORT: String(epmdPort),
      RABBITMQ_NODENAME: 'batchwise@localhost',
      RABBITMQ_DIST_PORT: String(distributionPort),
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
      RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq.conf'),
      RABBITMQ_CONF_ENV_FILE: join(folder, 'none'),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
      RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_LOGS: '-',
      RABBITMQ_PID_FILE: join(folder, 'pid'),
      // The script then becomes the Erlang process instead of its parent.
      RABBITMQ_ALLOW_INPUT: 'true',
    };
    processes.push(spawnGuarded(epmd, ['-port', String(epmdPort), '-address', '127.0.0.1'], { folder, env }));
    await accepting(epmdPort);
    const broker = spawnGuarded(server, ['-noinput'], { folder, env });
    // The broker first: it would start another port mapper.
    processes.unshift(broker);
    await broker.line(/Server startup complete/);
    return { url: `amqp://guest:guest@127.0.0.1:${port}`, port, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Resolves when a process listens on the port. The port mapper does not say so.
 *
 * @param {number} port
 */
async function accepting(port) {
  for (let attempt = 1; ; attempt += 1) {
    const socket = createConnection({ host: '127.0.0.1', port });
    try {
      await once(socket, 'connect');
      return;
    } catch (error) {
      if (attempt === ACCEPTING_ATTEMPTS) throw error;
      await delay(ACCEPTING_INTERVAL_MS);
    } finally {
      socket.destroy();
    }
  }
}

/**
 * Debian's Erlang beside an unpacked or installed RabbitMQ, else the one on PATH. Debian's `erl` knows only the folder
 * of an installation, so `bin` has another one.
 *
 * @param {string} server
 * @param {string} folder
 */
function erlang(server, folder) {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const root = resolve(dirname(server), '../../erlang');
  const runtime = existsSync(root) && readdirSync(root).find((name) => name.startsWith('erts-'));
  if (!runtime) return { bin, epmd: findCommand('epmd') ?? 'epmd' };
  const programs = join(root, runtime, 'bin');
  const script = `#!/bin/sh
export ROOTDIR='${root}' BINDIR='${programs}' EMU=beam PROGNAME=erl
exec '${join(programs, 'erlexec')}' "$@"
`;
  writeFileSync(join(bin, 'erl'), script, { mode: 0o755 });
  return { bin, epmd: join(programs, 'epmd') };
}

/** Debian's /usr/sbin/rabbitmq-server changes to the user `rabbitmq`, who may not write to our folder. */
function serverScript() {
  const program = testPrograms.rabbitmq;
  const found = findProgram(program);
  if (found === undefined) {
    throw new Error(
      `expected ${program.title} (Debian package ${program.debianPackage}) or ${program.variable}; scripts/test-requirements.js unpacks it`,
    );
  }
  const unwrapped = resolve(dirname(found), '../lib/rabbitmq/bin/rabbitmq-server');
  return existsSync(unwrapped) ? unwrapped : found;
}
