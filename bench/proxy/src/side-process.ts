/** A client, proxy, hop or backend in a fresh process. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { limitMs } from '@batchwise/bench-harness';
import type { FromSide, ToSide } from './side.js';

const STOP_WITHIN_MS = 5000;

export class SideProcess {
  readonly #child: ChildProcess;
  readonly #command: string;
  readonly #received: FromSide[] = [];
  #wake: () => void = () => {};
  #errors = '';

  constructor(module: string, args: readonly string[], flags: readonly string[] = []) {
    this.#command = [module, ...args].join(' ');
    const path = fileURLToPath(new URL(module, import.meta.url));
    this.#child = fork(path, args, { execArgv: [...flags], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    this.#child.stderr?.on('data', (chunk) => {
      this.#errors += chunk;
    });
    this.#child.on('message', (message: FromSide) => {
      this.#received.push(message);
      this.#wake();
    });
    this.#child.on('exit', () => this.#wake());
    process.once('exit', this.#kill);
  }

  send(message: ToSide): void {
    // If the process has ended, `receive` reports it.
    this.#child.send(message, () => {});
  }

  /** The next message of this type. Throws if the process ends or sends none within `withinMs`. */
  async receive<Type extends FromSide['type']>(
    type: Type,
    withinMs: number,
  ): Promise<Extract<FromSide, { type: Type }>> {
    const expired = limitMs(withinMs).then(() => true);
    while (true) {
      const at = this.#received.findIndex((message) => message.type === type);
      if (at >= 0) return this.#received.splice(at, 1)[0] as Extract<FromSide, { type: Type }>;
      const woken = new Promise<boolean>((resolve) => {
        this.#wake = () => resolve(false);
      });
      const isExpired = this.#hasEnded || (await Promise.race([woken, expired]));
      if (isExpired || (this.#hasEnded && !this.#received.some((message) => message.type === type))) {
        const what = this.#hasEnded ? 'ended early' : `sent no '${type}' within ${withinMs / 1000} s`;
        throw new Error(`${this.#command} ${what}: ${this.#errors.trim() || 'nothing on stderr'}`);
      }
    }
  }

  async cpuMs(withinMs: number): Promise<number> {
    this.send('cpu');
    return (await this.receive('cpu', withinMs)).ms;
  }

  async stop(): Promise<void> {
    process.removeListener('exit', this.#kill);
    if (this.#hasEnded) return;
    const ended = once(this.#child, 'exit');
    this.send('stop');
    await Promise.race([ended, limitMs(STOP_WITHIN_MS).then(this.#kill)]);
    await ended;
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  readonly #kill = (): void => {
    this.#child.kill('SIGKILL');
  };
}
