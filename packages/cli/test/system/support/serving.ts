/** `batchwise serve` as its users start it: the built command in processes of its own, on free ports. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HttpClient } from './http-client.js';
import { until } from './until.js';

export const root = fileURLToPath(new URL('../../../../../', import.meta.url));
const bin = join(root, 'packages/cli/bin/batchwise.js');

export const model = (name: string) => join(root, 'models', `${name}.onnx`);
export const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));

export interface ServingOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The text of the file of settings. */
  readonly yaml?: string;
  /** Files in its folder. */
  readonly files?: Readonly<Record<string, string>>;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export type ProcessKind = 'web' | 'runner';

/** However long the machine stands still, nobody is refused for it; where that is the subject, the settings say so. */
const PATIENT = { BATCHWISE__RUNNERS__BATCHING__TARGET_LATENCY_MS: '60000' };

/** In the kernel's table of sockets. */
const LISTENING = '0A';

const all = new Set<Serving>();

export class Serving {
  /** Of its own, so that nothing in the repository is taken for its settings. */
  readonly folder = mkdtempSync(join(tmpdir(), 'batchwise-serve-'));
  readonly exit: Promise<Exit>;
  stdout = '';
  stderr = '';
  hasEnded = false;
  readonly #process: ChildProcess;
  #client: HttpClient | undefined;

  /** As it is called, without waiting for anything. */
  constructor(args: readonly string[], { env = {}, yaml, files = {} }: ServingOptions = {}) {
    if (!existsSync(join(root, 'packages/cli/dist/main.js')))
      throw new Error('batchwise is not built: run npm run build first.');
    if (yaml !== undefined) this.configure(yaml);
    for (const [name, text] of Object.entries(files)) this.write(name, text);
    const patience = yaml?.includes('target_latency_ms') ? {} : PATIENT;
    // A process group of its own: whatever it leaves behind can be found, and ended.
    this.#process = spawn(process.execPath, [bin, 'serve', ...args], {
      cwd: this.folder,
      detached: true,
      env: { ...process.env, TMPDIR: this.folder, ...patience, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#process.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    // `close`, by when all that it said has come.
    this.exit = once(this.#process, 'close').then(([code, signal]) => {
      this.hasEnded = true;
      return { code, signal } as Exit;
    });
    all.add(this);
  }

  /** On ports of its own, ready for requests. */
  static async start(args: readonly string[], options?: ServingOptions): Promise<Serving> {
    const serving = new Serving([...args, '--port', '0'], options);
    await until(() => serving.stdout.includes('Ctrl-C') || serving.hasEnded, 'the server is ready');
    if (serving.hasEnded) throw new Error(`The server did not start:\n${serving.stderr}`);
    return serving;
  }

  /** To be called after each test, or after all of a file that share one. */
  static async endAll(): Promise<void> {
    const running = [...all];
    all.clear();
    await Promise.all(running.map((serving) => serving.#end()));
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  get port(): number {
    return Number(/ at http:\/\/127\.0\.0\.1:(\d+)/.exec(this.stdout)?.[1]);
  }

  get grpcPort(): number {
    return Number(/:(\d+) +gRPC$/m.exec(this.stdout)?.[1]);
  }

  /** For single requests; each may come over another connection. */
  get client(): HttpClient {
    this.#client ??= new HttpClient(this.port);
    return this.#client;
  }

  /** Of the server's own processes, as they are now. */
  pids(kind: ProcessKind, name = ''): number[] {
    return this.#group().filter((pid) => procFile(pid, 'cmdline').includes(`${kind}-process.js\0${name}`));
  }

  /** When nothing that it started is there any more. */
  async isGone(): Promise<void> {
    await until(() => this.#group().length === 0, 'all processes have ended');
  }

  /** All processes that are alive: what has ended may still be listed until somebody asks how. */
  #group(): number[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return pids.map(Number).filter((pid) => {
      // After the name, which is in parentheses and may hold anything.
      const [state, , group] = procFile(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
      return Number(group) === this.pid && state !== 'Z';
    });
  }

  /** Of the process that was started; with web processes, these share its sockets. */
  listeningPorts(): number[] {
    const sockets = new Set(openFiles(this.pid));
    return procFile(this.pid, 'net/tcp')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter((fields) => fields[3] === LISTENING && sockets.has(`socket:[${fields[9]}]`))
      .map((fields) => Number.parseInt(fields[1]?.split(':')[1] ?? '', 16));
  }

  signal(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal);
  }

  /** Nobody reads what it says any more. */
  closeLog(): void {
    this.#process.stdout?.destroy();
    this.#process.stderr?.destroy();
  }

  /** At once: who reads it meanwhile finds the old one or the new one. */
  configure(yaml: string): void {
    const file = join(this.folder, 'batchwise.yaml');
    writeFileSync(`${file}.new`, yaml);
    renameSync(`${file}.new`, file);
  }

  write(name: string, text: string): void {
    const file = join(this.folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  has(name: string): boolean {
    return existsSync(join(this.folder, name));
  }

  async said(text: string | RegExp): Promise<void> {
    await until(() => this.stderr.match(text) !== null, `the server says ${text}; it says: ${this.stderr}`);
  }

  async #end(): Promise<void> {
    this.#client?.close();
    if (this.#group().length > 0) process.kill(-this.pid, 'SIGKILL');
    await this.exit;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${fd}`)];
    } catch {
      return []; // closed meanwhile
    }
  });
}

/** Empty when the process has ended meanwhile. */
function procFile(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
