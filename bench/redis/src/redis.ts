/** A redis-server of our own: a free port, a folder of its own, nothing written to disk. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, limitMs, nowMs } from '@batchwise/bench-harness';
import { createClient } from '@redis/client';

const READY_WITHIN_MS = 10_000;

/** By command, in lower case: how often it was executed. Commands that a script calls count too. */
export type CommandCounts = ReadonlyMap<string, number>;

export class Redis {
  readonly port: number;
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #client: ReturnType<typeof createClient>;

  private constructor(port: number, child: ChildProcess, folder: string) {
    this.port = port;
    this.url = `redis://127.0.0.1:${port}`;
    this.#child = child;
    this.#folder = folder;
    // Answers "connection refused" by trying again until the server listens.
    this.#client = createClient({ url: this.url, socket: { reconnectStrategy: 20 } });
    this.#client.on('error', () => {});
  }

  static async start(): Promise<Redis> {
    const folder = mkdtempSync(join(tmpdir(), 'batchwise-bench-redis-'));
    const port = await freePort();
    const options = { port, bind: '127.0.0.1', dir: folder, save: '', appendonly: 'no', loglevel: 'warning' };
    const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
    const child = spawn('redis-server', args, { stdio: ['ignore', 'ignore', 'inherit'] });
    const redis = new Redis(port, child, folder);
    process.once('exit', redis.#kill);
    await redis.#ready();
    return redis;
  }

  async commandCounts(): Promise<CommandCounts> {
    const info = await this.#client.info('commandstats');
    const lines = info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
    return new Map([...lines].map(([, name = '', calls]) => [name, Number(calls)]));
  }

  async stop(): Promise<void> {
    this.#client.destroy();
    process.removeListener('exit', this.#kill);
    if (this.#child.exitCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGKILL');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #ready(): Promise<void> {
    const failed = once(this.#child, 'error').then(([error]) => {
      throw new Error('redis-server did not start; it has to be on the PATH', { cause: error });
    });
    const startedAt = nowMs();
    const connected = this.#client.connect();
    const expired = limitMs(READY_WITHIN_MS).then(() => {
      throw new Error(`redis-server was not ready after ${Math.round(nowMs() - startedAt)} ms`);
    });
    // Whoever loses the race must not become an unhandled rejection.
    for (const promise of [failed, connected, expired]) promise.catch(() => {});
    await Promise.race([connected, failed, expired]);
  }

  readonly #kill = (): void => {
    this.#child.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  };
}

/** What was executed from one count to the next, without the counting itself. */
export function commandsBetween(before: CommandCounts, after: CommandCounts): Record<string, number> {
  const counts = [...after].map(([name, calls]): [string, number] => [name, calls - (before.get(name) ?? 0)]);
  return Object.fromEntries(counts.filter(([name, calls]) => calls > 0 && name !== 'info'));
}
