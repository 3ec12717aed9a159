/**
 * A process that ends with the process that started it, however that ends: a test runner ends its workers by a
 * signal, and then no code of theirs gets to clean up.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * @typedef {object} GuardedProcess
 * @property {number} pid
 * @property {(pattern: RegExp) => Promise<string>} line Resolves to the first line of its output that matches; rejects
 *   with the end of the output if the process ends first.
 * @property {(signal?: NodeJS.Signals) => Promise<void>} kill Resolves when the process has ended.
 */

/** A guard waits for a line that says that the process has ended. Without one, the pipe closes: it kills. */
const GUARD = 'read -r line || { kill -9 "$1"; rm -rf "$2"; }';

/** How many lines of output an error message shows. */
const SHOWN_LINES = 40;

/**
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ folder: string, env?: NodeJS.ProcessEnv }} options `folder` is its working directory; the guard deletes it.
 * @returns {GuardedProcess}
 */
export function spawnGuarded(command, args, { folder, env = process.env }) {
  const child = spawn(command, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const guard = spawn('sh', ['-c', GUARD, 'sh', String(child.pid), folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a process group of its own: Ctrl-C in the terminal is not meant for it.
    detached: true,
  });
  guard.unref();
  guard.stdin.on('error', () => {});
  /** @type {import('node:net').Socket} */ (guard.stdin).unref();

  /** @type {string[]} */
  const output = [];
  /** @type {Set<(line: string) => void>} */
  const listeners = new Set();
  for (const input of [child.stdout, child.stderr]) {
    createInterface({ input }).on('line', (line) => {
      output.push(line);
      if (output.length > SHOWN_LINES) output.shift();
      for (const listener of [...listeners]) listener(line);
    });
  }

  let why = '';
  const ended = new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
    child.once('error', (error) => {
      why = error.message;
      resolve();
    });
    child.once('close', (code, signal) => {
      why ||= `it ended with ${signal ?? code}`;
      resolve();
    });
  }).then(() => {
    guard.stdin.end('done\n');
  });

  return {
    pid: child.pid ?? 0,
    line: (pattern) =>
      new Promise((resolve, reject) => {
        const done = () => listeners.delete(listener);
        const listener = (/** @type {string} */ line) => {
          if (!pattern.test(line)) return;
          done();
          resolve(line);
        };
        listeners.add(listener);
        ended.then(() => {
          done();
          reject(new Error(`expected ${command} to print ${pattern}; ${why}\n${output.join('\n')}`));
        });
      }),
    async kill(signal = 'SIGKILL') {
      child.kill(signal);
      await ended;
    },
  };
}

/**
 * Ports on 127.0.0.1 that are free now, each another one.
 *
 * @param {number} count
 * @returns {Promise<number[]>}
 */
export async function freePorts(count) {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(
    servers.map(async (server) => {
      server.close();
      await once(server, 'close');
    }),
  );
  return ports;
}
