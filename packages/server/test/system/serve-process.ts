/** A server of real processes, as `batchwise serve --workers` starts it, and what it says. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { freePort } from '../../../redis/test/support/free-port.js';
import { until } from './processes-support.js';

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));

/** However long the machine stands still, nobody is refused for it. */
const PATIENT = { BATCHWISE__RUNNERS__BATCHING__TARGET_LATENCY_MS: '60000' };

export interface ServeProcessOptions {
  readonly workers?: number;
  readonly yaml?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export class ServeProcess {
  readonly port: number;
  readonly grpcPort: number;
  readonly process: ChildProcess;
  readonly folder: string;
  /** What the server logs, and what its processes write to stderr. */
  readonly logs: string[] = [];
  isStarted = false;
  hasEnded = false;

  static async launch({ workers = 2, yaml = '', env = {} }: ServeProcessOptions = {}): Promise<ServeProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'batchwise-test-'));
    const file = join(folder, 'batchwise.yaml');
    writeFileSync(file, yaml);
    const port = await freePort();
    const grpcPort = await freePort();
    const flags = { service: fixture('workers-service.mjs'), port, grpcPort, workers };
    const child = spawn(process.execPath, [fixture('serve-many.mjs'), JSON.stringify({ flags, file })], {
      detached: true,
      env: { ...process.env, TMPDIR: folder, ...PATIENT, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    return new ServeProcess(child, folder, port, grpcPort);
  }

  /** The same, ready. */
  static async start(options: ServeProcessOptions = {}): Promise<ServeProcess> {
    return (await ServeProcess.launch(options)).started();
  }

  private constructor(child: ChildProcess, folder: string, port: number, grpcPort: number) {
    this.process = child;
    this.folder = folder;
    this.port = port;
    this.grpcPort = grpcPort;
    child.on('exit', () => {
      this.hasEnded = true;
    });
    if (child.stdout !== null) createInterface(child.stdout).on('line', (line) => this.#told(line));
    if (child.stderr !== null) createInterface(child.stderr).on('line', (line) => this.logs.push(line));
    onTestFinished(() => this.#killAll());
  }

  async started(): Promise<this> {
    await until(() => this.isStarted || this.hasEnded, 'the server starts');
    if (this.hasEnded) throw new Error(`The server did not start: ${this.logs.join('\n')}`);
    return this;
  }

  /** Over a connection of its own, which any web process may get. */
  fetch(path: string, body?: unknown): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.port}${path}`, {
      headers: { connection: 'close', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
    });
  }

  #told(line: string): void {
    const { log, started } = JSON.parse(line) as { log?: string; started?: object };
    if (log !== undefined) this.logs.push(log);
    if (started !== undefined) this.isStarted = true;
  }

  #killAll(): void {
    try {
      if (this.process.pid !== undefined) process.kill(-this.process.pid, 'SIGKILL');
    } catch {
      // All gone already.
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
