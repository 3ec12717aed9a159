/** One side of a contender in a fresh process, which talks by lines on stdout. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { limitMs } from '@batchwise/bench-harness';

const STOP_WITHIN_MS = 5000;

export class SideProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #what: string;
  #errors = '';

  constructor(command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.#what = [command, ...args].join(' ');
    this.#child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child.stderr?.on('data', (chunk) => {
      this.#errors += chunk;
    });
    this.#child.on('error', (error) => {
      this.#errors += error.message;
    });
    this.#lines = createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })[
      Symbol.asyncIterator
    ]();
    process.once('exit', this.#kill);
  }

  /** Its next line; it is an error when it ends instead, or says nothing for so long. */
  async line(withinMs: number): Promise<string> {
    const next = await Promise.race([this.#lines.next(), limitMs(withinMs)]);
    if (next && !next.done) return next.value;
    const what = next ? 'ended before its time' : `said nothing for ${withinMs / 1000} s`;
    throw new Error(`${this.#what} ${what}: ${this.#errors.trim() || 'nothing on stderr'}`);
  }

  /** What it said at its end, if anything. */
  async lastLine(): Promise<string | undefined> {
    const { value, done } = await this.#lines.next();
    return done ? undefined : value;
  }

  /** SIGTERM, and SIGKILL for one that does not listen. */
  async stop(): Promise<void> {
    process.removeListener('exit', this.#kill);
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await Promise.race([ended, limitMs(STOP_WITHIN_MS).then(this.#kill)]);
    await ended;
  }

  readonly #kill = (): void => {
    this.#child.kill('SIGKILL');
  };
}
