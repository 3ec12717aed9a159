/** A generator in a process of its own, from its start to what it prints at its end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface Command {
  readonly program: string;
  readonly args: readonly string[];
}

export class GeneratorProcess {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #output: Promise<string>;
  readonly #errors: Promise<string>;
  readonly #closed: Promise<unknown>;
  readonly #kill = () => this.#child.kill('SIGKILL');

  constructor(name: string, { program, args }: Command) {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#name = name;
    this.#child = child;
    this.#output = text(child.stdout);
    this.#errors = text(child.stderr);
    this.#closed = once(child, 'close');
    process.on('exit', this.#kill);
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** What it printed on stdout. */
  async ended(): Promise<string> {
    await this.#closed;
    process.off('exit', this.#kill);
    if (this.#child.exitCode === 0) return this.#output;
    const status = this.#child.signalCode ?? this.#child.exitCode;
    throw new Error(`${this.#name} ended with ${status}: ${await this.#errors}${await this.#output}`);
  }
}

/** A module of this folder, run by Node with an argument as JSON. */
export function nodeCommand(module: string, argument: unknown, nodeArgs: readonly string[] = []): Command {
  const path = new URL(module, import.meta.url).pathname;
  return { program: process.execPath, args: [...nodeArgs, path, JSON.stringify(argument)] };
}
