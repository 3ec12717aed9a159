/** A `batchwise` command that goes on until it is told to end: the built one, in a process and a folder of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { until } from './until.js';

const bin = fileURLToPath(new URL('../../../bin/batchwise.js', import.meta.url));
const built = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));

export interface WorkingOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** What lies in its folder. */
  readonly files?: Readonly<Record<string, string>>;
  /** Adds to its folder before the command starts. */
  readonly prepare?: (folder: string) => void;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class Working {
  readonly folder = mkdtempSync(join(tmpdir(), 'batchwise-worker-'));
  readonly exit: Promise<Exit>;
  stdout = '';
  stderr = '';
  hasEnded = false;
  readonly #process: ChildProcess;

  /** Gone when the test is over, however it ends. */
  constructor(args: readonly string[], { env = {}, files = {}, prepare }: WorkingOptions = {}) {
    if (!existsSync(built)) throw new Error(`${built} is not there: run npm run build first.`);
    for (const [name, text] of Object.entries(files)) this.write(name, text);
    prepare?.(this.folder);
    this.#process = spawn(process.execPath, [bin, ...args], {
      cwd: this.folder,
      env: { ...process.env, TMPDIR: this.folder, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.exit = once(this.#process, 'close').then(([code, signal]) => {
      this.hasEnded = true;
      return { code, signal } as Exit;
    });
    onTestFinished(async () => {
      this.#process.kill('SIGKILL');
      await this.exit;
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  /** A worker, once it takes items. */
  static async worker(args: readonly string[], options?: WorkingOptions): Promise<Working> {
    const worker = new Working(['worker', ...args], options);
    await until(() => worker.stderr.includes('Ctrl-C') || worker.hasEnded, 'the worker has started');
    if (worker.hasEnded) throw new Error(`The worker did not start:\n${worker.stderr}`);
    return worker;
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** The lines of all batches so far. */
  get batches(): string[] {
    return this.stdout.split('\n').filter((line) => line.startsWith('batch start: '));
  }

  write(name: string, text: string): void {
    const file = join(this.folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal);
  }

  async said(text: string | RegExp): Promise<void> {
    const all = () => `${this.stdout}\n${this.stderr}`;
    await until(() => all().match(text) !== null || this.hasEnded, `it says ${text}; it says: ${all()}`);
    if (all().match(text) === null) throw new Error(`It ended without saying ${text}:\n${all()}`);
  }
}
