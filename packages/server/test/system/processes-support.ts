/** A server of several real processes, and those who call it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

export interface Line {
  readonly log?: string;
  readonly started?: { readonly port: number };
  readonly pids?: readonly number[];
  readonly drained?: { readonly received: number; readonly answered: number };
}

export interface Reply {
  /** Undefined when the connection broke before an answer came. */
  readonly status: number | undefined;
  readonly body: unknown;
  readonly webPid: number;
}

const fixture = fileURLToPath(new URL('./fixtures/processes-supervisor.mjs', import.meta.url));

export class Server {
  readonly process: ChildProcess;
  readonly lines: Line[] = [];
  readonly exit: Promise<readonly [code: number | null, signal: string | null]>;
  readonly #agent = new Agent({ keepAlive: true });
  /** For its sockets: who is killed does not clean up. */
  readonly #folder = mkdtempSync(join(tmpdir(), 'batchwise-test-'));
  #hasEnded = false;

  constructor(options: Record<string, unknown> = {}) {
    // A process group of its own, so that a test can signal all of them as a terminal does.
    this.process = spawn(process.execPath, [fixture, JSON.stringify(options)], {
      detached: true,
      env: { ...process.env, TMPDIR: this.#folder },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.exit = once(this.process, 'exit') as Promise<[number | null, string | null]>;
    this.exit.then(() => {
      this.#hasEnded = true;
    });
    if (this.process.stdout !== null) {
      createInterface(this.process.stdout).on('line', (line) => this.lines.push(JSON.parse(line)));
    }
    onTestFinished(() => this.#killAll());
  }

  get port(): number {
    return this.lines.find(({ started }) => started !== undefined)?.started?.port ?? 0;
  }

  get pids(): readonly number[] {
    return this.lines.find(({ pids }) => pids !== undefined)?.pids ?? [];
  }

  get logs(): readonly string[] {
    return this.lines.flatMap(({ log }) => log ?? []);
  }

  async started(): Promise<this> {
    await until(() => this.port > 0 || this.#hasEnded, 'the server starts');
    if (this.port === 0) throw new Error(`The server did not start: ${this.logs.join(' ')}`);
    return this;
  }

  /** `isFresh`: over a connection of its own, which any web process may get. */
  get(path: string | number, isFresh = false): Promise<Reply> {
    return new Promise((resolve) => {
      const lost = () => resolve({ status: undefined, body: undefined, webPid: 0 });
      const agent = isFresh ? false : this.#agent;
      request({ port: this.port, path: `/${path}`, agent, host: '127.0.0.1' }, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => {
          const webPid = Number(response.headers['web-pid']);
          resolve({ status: response.statusCode, body: JSON.parse(text), webPid });
        });
        response.on('error', lost);
      })
        .on('error', lost)
        .end();
    });
  }

  /** Whether nobody takes new connections any more. */
  isClosed(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = connect(this.port, '127.0.0.1');
      socket.on('error', () => resolve(true));
      socket.on('connect', () => {
        socket.destroy();
        resolve(false);
      });
    });
  }

  async body<T>(path: string): Promise<T> {
    return (await this.get(path, true)).body as T;
  }

  #killAll(): void {
    this.#agent.destroy();
    try {
      if (this.process.pid !== undefined) process.kill(-this.process.pid, 'SIGKILL');
    } catch {
      // All gone already.
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Callers who ask again as soon as they are answered, until they are told to stop. */
export class Load {
  readonly replies: Reply[] = [];
  sent = 0;
  readonly #server: Server;
  readonly #callers: Promise<void>[];
  #isOver = false;

  constructor(server: Server, callers = 20) {
    this.#server = server;
    this.#callers = Array.from({ length: callers }, () => this.#call());
  }

  statuses(from = 0): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { status } of this.replies.slice(from)) {
      counts[String(status)] = (counts[String(status)] ?? 0) + 1;
    }
    return counts;
  }

  /** So many more answers with this status. */
  async more(count: number, status = 200): Promise<void> {
    const from = this.replies.length;
    await until(() => (this.statuses(from)[status] ?? 0) >= count, `${count} more answers with ${status}`);
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#callers);
  }

  async #call(): Promise<void> {
    while (!this.#isOver) {
      this.sent += 1;
      const number = this.sent;
      const reply = await this.#server.get(number);
      if (reply.status === 200 && reply.body !== 2 * number) {
        throw new Error(`Expected ${2 * number}, got ${reply.body}: somebody else's answer.`);
      }
      this.replies.push(reply);
      // Not as fast as the machine can when nobody is there.
      if (reply.status !== 200) await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export async function until(holds: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endAt = performance.now() + 300_000;
  while (!(await holds())) {
    if (performance.now() > endAt) throw new Error(`It never came to this: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
