/** A process that talks by lines on stdout; what it says on stderr is kept for the case that it fails. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';

const STOP_WITHIN_MS = 8000;

export class StartedProcess {
  #child;
  #lines;
  #errors = '';
  #what;

  constructor(command, args, options = {}) {
    this.#what = [command, ...args].join(' ').slice(0, 200);
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
    this.#child.stderr.on('data', (chunk) => {
      this.#errors = (this.#errors + chunk).slice(-8000);
    });
    this.#child.on('error', (error) => {
      this.#errors += error.message;
    });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
    process.once('exit', this.#kill);
  }

  get pid() {
    return this.#child.pid;
  }

  get errors() {
    return this.#errors.trim();
  }

  get hasEnded() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async line(withinMs) {
    const next = await Promise.race([this.#lines.next(), pause(withinMs, undefined, { ref: false })]);
    if (next && !next.done) return next.value;
    const what = next ? 'ended before its time' : `said nothing for ${withinMs / 1000} s`;
    throw new Error(`${this.#what} ${what}: ${this.errors || 'nothing on stderr'}`);
  }

  async stop() {
    process.removeListener('exit', this.#kill);
    if (this.hasEnded) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await Promise.race([ended, pause(STOP_WITHIN_MS, undefined, { ref: false }).then(this.#kill)]);
    await ended;
  }

  #kill = () => {
    this.#child.kill('SIGKILL');
  };
}
