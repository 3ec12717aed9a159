/**
 * A PostgreSQL server for tests, benchmarks and examples: its own temporary folder, a free port on 127.0.0.1, no
 * password, no durability. Nothing is left of it after `stop()`, or after the process that started it has ended.
 */
import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram, testPrograms } from '../test-programs.js';
import { freePorts, spawnGuarded } from './guarded-process.js';

/**
 * @typedef {object} PostgresServer
 * @property {string} url For `new Pool({ connectionString: url })`.
 * @property {number} port
 * @property {() => Promise<void>} stop
 */

const USER = 'postgres';

/** PostgreSQL refuses to run as root: then it runs as this user, who is nobody. */
const UNPRIVILEGED_ID = 65_534;
const isRoot = process.getuid?.() === 0;

const SETTINGS = {
  listen_addresses: '127.0.0.1',
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  shared_buffers: '32MB',
  lc_messages: 'C',
};

const PORT_ATTEMPTS = 5;

/**
 * Resolves when the server accepts connections.
 *
 * @returns {Promise<PostgresServer>}
 */
export async function startPostgres() {
  const programs = programsFolder();
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-postgres-'));
  try {
    const data = join(folder, 'data');
    mkdirSync(data, { mode: 0o700 });
    if (isRoot) for (const path of [folder, data]) chownSync(path, UNPRIVILEGED_ID, UNPRIVILEGED_ID);
    const choices = ['--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync', '--no-instructions'];
    const [command, ...args] = unprivileged(join(programs, 'initdb'), '-D', data, '-U', USER, ...choices);
    await promisify(execFile)(command, args, { cwd: folder });
    return await startOn(join(programs, 'postgres'), folder);
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }
}

/**
 * PostgreSQL cannot choose a port itself, and another process may take a free one before it starts.
 *
 * @param {string} postgres
 * @param {string} folder
 * @returns {Promise<PostgresServer>}
 */
async function startOn(postgres, folder) {
  for (let attempt = 1; ; attempt += 1) {
    const [port = 0] = await freePorts(1);
    const settings = { ...SETTINGS, port: String(port), unix_socket_directories: folder };
    const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const [command, ...args] = unprivileged(postgres, '-D', join(folder, 'data'), ...options);
    const server = spawnGuarded(command, args, { folder });
    try {
      await server.line(/database system is ready to accept connections/);
      const stop = async () => {
        await server.kill('SIGQUIT');
        rmSync(folder, { recursive: true, force: true });
      };
      return { url: `postgres://${USER}@127.0.0.1:${port}/postgres`, port, stop };
    } catch (error) {
      if (!String(error).includes('Address already in use') || attempt === PORT_ATTEMPTS) throw error;
    }
  }
}

/**
 * @param {string} program
 * @param {string[]} args
 * @returns {[string, ...string[]]}
 */
function unprivileged(program, ...args) {
  if (!isRoot) return [program, ...args];
  const user = [`--reuid=${UNPRIVILEGED_ID}`, `--regid=${UNPRIVILEGED_ID}`, '--clear-groups'];
  return ['setpriv', ...user, program, ...args];
}

/** `initdb` is in the same folder as `postgres`. */
function programsFolder() {
  const program = testPrograms.postgres;
  const found = findProgram(program);
  if (found === undefined) {
    throw new Error(
      `expected ${program.title} (Debian package ${program.debianPackage}) or ${program.variable}`,
    );
  }
  return dirname(realpathSync(found));
}
