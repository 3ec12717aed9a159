/** A server in a process of its own, from the moment it is ready until it is stopped. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '@batchwise/bench-harness';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const READY_WITHIN_MS = 60_000;

export class ServerProcess {
  readonly url: string;
  readonly #child: ChildProcess;

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
  }

  /** `args` are for node and gets the port; `readyPath` answers 200 as soon as it can be measured. */
  static async start(
    args: (port: number) => readonly string[],
    readyPath: string,
    env: Readonly<Record<string, string>> = {},
    command = process.execPath,
  ): Promise<ServerProcess> {
    const port = await freePort();
    const child = spawn(command, args(port), {
      cwd: ROOT,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const url = `http://127.0.0.1:${port}`;
    const server = new ServerProcess(url, child);
    await server.#ready(readyPath);
    return server;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await ended;
  }

  async #ready(path: string): Promise<void> {
    for (let waitedMs = 0; waitedMs < READY_WITHIN_MS; waitedMs += 50) {
      if (this.#child.exitCode !== null) throw new Error(`The server ended with ${this.#child.exitCode}.`);
      const answer = await fetch(this.url + path).catch(() => undefined);
      await answer?.arrayBuffer();
      if (answer?.ok) return;
      await sleep(50);
    }
    await this.stop();
    throw new Error(`The server was not ready after ${READY_WITHIN_MS / 1000} s.`);
  }
}
