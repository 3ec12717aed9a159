/** A program of this example in a process of its own: a service, or the proxy. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const batchwise = join(
  dirname(createRequire(import.meta.url).resolve('@batchwise/cli/package.json')),
  'bin/batchwise.js',
);

export class Program implements AsyncDisposable {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #printed: Promise<string>;

  /** `unary-service` or `streaming-service`, on a free port. */
  static service(name: string): Promise<Program> {
    return Program.#start(fileURLToPath(new URL(`./${name}.js`, import.meta.url)), '0');
  }

  /** `batchwise proxy`, on a free port. */
  static proxy(...flags: readonly string[]): Promise<Program> {
    return Program.#start(batchwise, 'proxy', '--port', '0', '--no-admin', ...flags);
  }

  static async #start(file: string, ...args: readonly string[]): Promise<Program> {
    const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const port = new Promise<number>((resolve) => {
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding('utf8').on('data', (text: string) => {
          output += text;
          const [, found] = / at 127\.0\.0\.1:(\d+)/.exec(output) ?? [];
          if (found !== undefined) resolve(Number(found));
        });
      }
    });
    const printed = once(child, 'close').then(() => output);
    const failed = printed.then((text) => {
      throw new Error(`${file} has ended too early: ${text}`);
    });
    failed.catch(() => {});
    return new Program(child, await Promise.race([port, failed]), printed);
  }

  private constructor(child: ChildProcess, port: number, printed: Promise<string>) {
    this.#child = child;
    this.port = port;
    this.#printed = printed;
  }

  /** Resolves with all that it has printed. */
  stop(): Promise<string> {
    this.#child.kill('SIGTERM');
    return this.#printed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
