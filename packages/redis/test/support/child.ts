/**
 * A Node process of a test's own, to be killed and frozen. It tells what it does by `process.send()` or by lines of
 * JSON on its standard output; anything else it prints is kept for when it fails.
 */
import { type ChildProcess, type Serializable, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { guardAgainstOrphans } from './orphan-guard.js';

export interface ChildOptions {
  readonly args?: readonly string[];
  /** In addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly execArgv?: readonly string[];
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Runs the file with this Node. Who starts it kills it, or says `await using`. */
export function startChild(file: string, options: ChildOptions = {}): Child {
  return new Child(file, options);
}

const outputLimit = 64 * 1024;

export class Child implements AsyncDisposable {
  readonly exited: Promise<ChildExit>;
  readonly #file: string;
  readonly #process: ChildProcess;
  readonly #messages: unknown[] = [];
  readonly #listeners = new Set<() => void>();
  #output = '';
  #hasExited = false;
  #hasClosed = false;

  constructor(file: string, { args = [], env = {}, cwd, execArgv = [] }: ChildOptions) {
    this.#file = file;
    const child = spawn(process.execPath, [...execArgv, file, ...args], {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.#process = child;
    guardAgainstOrphans(child);
    this.exited = new Promise((resolve) => {
      child.once('exit', (code, signal) => {
        this.#hasExited = true;
        resolve({ code, signal });
      });
    });
    child.once('close', () => {
      this.#hasClosed = true;
      this.#wakeListeners();
    });
    // A message to one that has just been killed does not arrive; that is not the test's failure.
    child.on('error', (error) => this.#keep(String(error)));
    child.on('message', (message) => this.#receive(message));
    readLines(child.stdout, (line) => {
      const message = parsed(line);
      if (message === undefined) this.#keep(line);
      else this.#receive(message);
    });
    readLines(child.stderr, (line) => this.#keep(line));
  }

  get pid(): number {
    const { pid } = this.#process;
    if (pid === undefined) throw new Error(`${this.#file} could not be started: ${this.#output}`);
    return pid;
  }

  get isRunning(): boolean {
    return !this.#hasExited;
  }

  /** All that came so far, in order. */
  get messages(): readonly unknown[] {
    return this.#messages;
  }

  /** What it printed that is no message: standard error and other lines; the end of it, if it is long. */
  get output(): string {
    return this.#output;
  }

  /** The first message that fits, come already or still to come, from the `from`th on. Fails if it ends before. */
  async until<T = unknown>(matches: (message: T) => boolean, from = 0): Promise<T> {
    for (let index = from; ; index += 1) {
      while (index >= this.#messages.length) {
        if (this.#hasClosed) throw new Error(await this.#endedEarly());
        await new Promise<void>((resolve) => this.#listeners.add(resolve));
      }
      const message = this.#messages[index] as T;
      if (matches(message)) return message;
    }
  }

  /** By `process.on('message')` there. */
  send(message: Serializable): void {
    if (this.#process.connected) this.#process.send(message, () => {});
  }

  /** Until it is gone. One that is frozen only hears SIGKILL. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<ChildExit> {
    this.#process.kill(signal);
    return this.exited;
  }

  /** Freezes it in the middle of what it does. */
  stop(): void {
    this.#process.kill('SIGSTOP');
  }

  /** And lets it go on. */
  cont(): void {
    this.#process.kill('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #receive(message: unknown): void {
    this.#messages.push(message);
    this.#wakeListeners();
  }

  #wakeListeners(): void {
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const wake of listeners) wake();
  }

  #keep(line: string): void {
    this.#output = `${this.#output}${line}\n`.slice(-outputLimit);
  }

  async #endedEarly(): Promise<string> {
    const { code, signal } = await this.exited;
    return `expected a message from ${this.#file}, which ended with ${code ?? signal}\n${this.#output}`;
  }
}

function readLines(stream: Readable | null, onLine: (line: string) => void): void {
  if (stream !== null) createInterface({ input: stream }).on('line', onLine);
}

/** Objects and arrays only: a line that reads 42 is no message. */
function parsed(line: string): unknown {
  if (!/^[{[]/.test(line)) return undefined;
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
