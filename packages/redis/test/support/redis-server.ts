/**
 * A real redis-server of a test's own: random port, own folder, killed and started again at will, and nothing
 * left of it in the end.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { findProgram, testPrograms } from '../../../../scripts/test-programs.js';
import { type Certificates, makeCertificates } from './certificates.js';
import { freePort } from './free-port.js';
import { guardAgainstOrphans } from './orphan-guard.js';

export interface RedisOptions {
  /**
   * Keeps data through `kill()` and `restart()`. Redis answers before it writes if the disk is still busy with the
   * second before: to lose nothing at all, add the setting `appendfsync always`.
   * @default false
   */
  readonly aof?: boolean;
  /** Further lines of redis.conf: `'maxmemory-policy allkeys-lru'`. */
  readonly settings?: readonly string[];
  /** TLS only, no plain port; 'mutual' asks clients for a certificate as well. @default false */
  readonly tls?: boolean | 'mutual';
  /** @default one that is free */
  readonly port?: number;
  /** A sentinel, which keeps no data. @default false */
  readonly sentinel?: boolean;
}

/** Once it answers. Who starts it stops it, or says `await using`. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  for (let attempt = 1; ; attempt += 1) {
    const server = new RedisServer(options.port ?? (await freePort()), options);
    try {
      await server.restart();
      return server;
    } catch (error) {
      await server.stop();
      const isPortTaken = String(error).includes('Address already in use');
      if (!isPortTaken || options.port !== undefined || attempt === 5) throw error;
    }
  }
}

const runFile = promisify(execFile);

export class RedisServer implements AsyncDisposable {
  readonly port: number;
  readonly folder = mkdtempSync(join(tmpdir(), 'batchwise-redis-'));
  readonly url: string;
  /** With TLS. */
  readonly certificates: Certificates | undefined;
  readonly #options: RedisOptions;
  readonly #password: string | undefined;
  #process: ChildProcess | undefined;
  #isStopped = false;

  /** Not started yet: see `startRedis()`. */
  constructor(port: number, options: RedisOptions) {
    this.port = port;
    this.#options = options;
    this.url = `${options.tls ? 'rediss' : 'redis'}://127.0.0.1:${port}`;
    this.certificates = options.tls ? makeCertificates() : undefined;
    this.#password = options.settings?.map((line) => /^requirepass (\S+)$/.exec(line)?.[1]).find(Boolean);
    this.#writeCertificates();
    writeFileSync(this.#configFile, `${this.#config().join('\n')}\n`);
  }

  get process(): ChildProcess {
    if (this.#process === undefined) throw new Error(`redis-server on port ${this.port} is not running`);
    return this.#process;
  }

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  /** Until the process is gone. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT' = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  /** It answers nobody, but its connections stay open: until `resume()`. */
  pause(): void {
    this.process.kill('SIGSTOP');
  }

  resume(): void {
    this.process.kill('SIGCONT');
  }

  /** On the same port, with what is in the folder, until it has loaded that. One that runs is shut down first. */
  async restart(): Promise<void> {
    if (this.#isStopped) throw new Error(`redis-server on port ${this.port} was stopped: its folder is gone`);
    await this.kill('SIGTERM');
    const kind = this.#options.sentinel ? ['--sentinel'] : [];
    const child = spawn(path('redisServer'), [this.#configFile, ...kind], {
      cwd: this.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    guardAgainstOrphans(child);
    this.#process = child;
    const gone = () => {
      if (this.#process === child) this.#process = undefined;
    };
    child.once('exit', gone);
    child.once('error', gone);
    await isReady(child, this.port);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** What redis-cli prints, without the last line's end. Fails if Redis answers with an error. */
  async cli(...args: readonly (string | number)[]): Promise<string> {
    const where = ['-h', '127.0.0.1', '-p', String(this.port), ...this.#tlsArguments()];
    // -e: an error as answer fails the program too.
    const { stdout } = await runFile(path('redisCli'), ['-e', ...where, ...args.map(String)], {
      env: { ...process.env, ...(this.#password === undefined ? {} : { REDISCLI_AUTH: this.#password }) },
      maxBuffer: 64 * 1024 * 1024,
    }).catch((error: { stdout?: string; stderr?: string }) => {
      const said = `${error.stdout ?? ''}${error.stderr ?? ''}`.trim() || String(error);
      throw new Error(`redis-cli ${args.join(' ')}: ${said}`, { cause: error });
    });
    return stdout.replace(/\n$/, '');
  }

  get #configFile(): string {
    return join(this.folder, 'redis.conf');
  }

  #config(): string[] {
    const { aof, settings = [], sentinel, tls } = this.#options;
    const persistence = aof ? ['appendonly yes', 'appendfsync everysec'] : ['appendonly no'];
    const data = ['save ""', ...persistence, 'enable-debug-command local'];
    const port = tls
      ? [
          'port 0',
          `tls-port ${this.port}`,
          'tls-ca-cert-file ca.pem',
          'tls-cert-file server.pem',
          'tls-key-file server.key',
          `tls-auth-clients ${tls === 'mutual' ? 'yes' : 'no'}`,
        ]
      : [`port ${this.port}`];
    return [
      ...(sentinel ? [] : data),
      `dir "${this.folder}"`,
      ...settings,
      ...port,
      'bind 127.0.0.1',
      'daemonize no',
      // To standard output, where `isReady` reads it.
      'logfile ""',
      'loglevel notice',
    ];
  }

  #writeCertificates(): void {
    if (this.certificates === undefined) return;
    const { ca, server, client } = this.certificates;
    const files = {
      'ca.pem': ca,
      'server.pem': server.cert,
      'server.key': server.key,
      'client.pem': client.cert,
      'client.key': client.key,
    };
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.folder, name), text);
  }

  #tlsArguments(): string[] {
    const { tls } = this.#options;
    if (!tls) return [];
    const file = (name: string) => join(this.folder, name);
    const own = tls === 'mutual' ? ['--cert', file('client.pem'), '--key', file('client.key')] : [];
    return ['--tls', '--cacert', file('ca.pem'), ...own];
  }
}

function path(name: 'redisServer' | 'redisCli'): string {
  const program = testPrograms[name];
  const found = findProgram(program);
  if (found === undefined) {
    const [command] = program.commands;
    throw new Error(
      `expected ${command} on PATH, at ${program.variable} or provided by scripts/test-requirements.js`,
    );
  }
  return found;
}

/** It says so when it has loaded its data and listens. Goes on reading afterwards, or the pipe would fill up. */
function isReady(child: ChildProcess, port: number): Promise<void> {
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error('expected pipes from redis-server');
  const log: string[] = [];
  return new Promise((resolve, reject) => {
    const fail = (why: string) =>
      reject(new Error(`redis-server on port ${port} did not start: ${why}\n${log.join('\n')}`));
    const read = (line: string) => {
      if (log.length < 100) log.push(line);
      if (/Ready to accept connections|Sentinel ID is/.test(line)) resolve();
    };
    createInterface({ input: stdout }).on('line', read);
    createInterface({ input: stderr }).on('line', read);
    child.once('error', (error) => fail(error.message));
    child.once('close', (code, signal) => fail(`it ended with ${code ?? signal}`));
  });
}
