/**
 * The server that all generators send to: nginx, one process, a fixed JSON response. It counts requests and
 * connections itself, so that all generators are counted in the same way.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, nowMs, pauseMs, UsageError } from '@batchwise/bench-harness';
import { findProgram, NGINX } from './program.js';

const READY_WITHIN_MS = 10_000;
/** Locust imports for seconds before it sends. */
const STARTS_WITHIN_MS = 30_000;
const POLL_MS = 20;
const MODULES_WITH_TEMPORARY_FILES = ['proxy', 'fastcgi', 'uwsgi', 'scgi'];

export const REQUEST_BODY = '{"features":[5.1,3.5,1.4,0.2]}';
export const EXPECTED_LABEL = 'setosa';
const RESPONSE_BODY = JSON.stringify({ label: EXPECTED_LABEL });

export interface ServerCounts {
  /** Of all generators since the start, without those for the counts themselves. */
  readonly requests: number;
  readonly connections: number;
}

export class NativeServer {
  readonly url: string;
  readonly #origin: string;
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #kill = () => this.#child.kill('SIGKILL');
  #ownRequests = 0;

  private constructor(port: number, child: ChildProcess, folder: string) {
    this.#origin = `http://127.0.0.1:${port}`;
    this.url = `${this.#origin}/classify`;
    this.#child = child;
    this.#folder = folder;
    process.on('exit', this.#kill);
  }

  static async start(): Promise<NativeServer> {
    const program = findProgram(NGINX);
    if (program === undefined) throw new UsageError(`nginx is needed. To get it: ${NGINX.install}`);
    const folder = await mkdtemp(join(tmpdir(), 'batchwise-bench-'));
    const port = await freePort();
    await writeFile(join(folder, 'nginx.conf'), configOf(port, program));
    const child = spawn(program, ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const server = new NativeServer(port, child, folder);
    await server.#ready();
    return server;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  async counts(): Promise<ServerCounts> {
    this.#ownRequests++;
    const response = await fetch(`${this.#origin}/status`);
    const text = await response.text();
    const [, connections] = /Active connections: (\d+)/.exec(text) ?? [];
    const [, requests] = /requests\s+\d+ \d+ (\d+)/.exec(text) ?? [];
    // The counts come over a connection, too.
    return { requests: Number(requests) - this.#ownRequests, connections: Number(connections) - 1 };
  }

  /** The process stands still; the kernel goes on to accept connections and to take in requests. */
  async stall(ms: number): Promise<{ tookMs: number }> {
    this.#child.kill('SIGSTOP');
    const stoppedAt = nowMs();
    await pauseMs(ms);
    this.#child.kill('SIGCONT');
    return { tookMs: nowMs() - stoppedAt };
  }

  async stop(): Promise<void> {
    process.off('exit', this.#kill);
    if (this.#child.exitCode === null) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      await ended;
    }
    await rm(this.#folder, { recursive: true });
  }

  /** Until so many requests more have come than `before`. */
  async requestsAfter(before: ServerCounts, requests: number): Promise<void> {
    for (let waitedMs = 0; waitedMs < STARTS_WITHIN_MS; waitedMs += POLL_MS) {
      if ((await this.counts()).requests >= before.requests + requests) return;
      await pauseMs(POLL_MS);
    }
    throw new Error(`Fewer than ${requests} requests came within ${STARTS_WITHIN_MS / 1000} s.`);
  }

  async #ready(): Promise<void> {
    for (let waitedMs = 0; waitedMs < READY_WITHIN_MS; waitedMs += POLL_MS) {
      if (this.#child.exitCode !== null) throw new Error(`nginx ended with ${this.#child.exitCode}.`);
      const counts = await this.counts().catch(() => undefined);
      if (counts !== undefined) {
        this.#ownRequests += counts.requests;
        return;
      }
      await pauseMs(POLL_MS);
    }
    await this.stop();
    throw new Error(`nginx was not ready after ${READY_WITHIN_MS / 1000} s.`);
  }
}

/** A server for as long as `use` takes. */
export async function withServer<Result>(use: (server: NativeServer) => Promise<Result>): Promise<Result> {
  const server = await NativeServer.start();
  try {
    return await use(server);
  } finally {
    await server.stop();
  }
}

/** Without a master process there is one process to stop, to stall and to look at. */
function configOf(port: number, program: string): string {
  // nginx prints them on stderr.
  const { stderr: buildOptions } = spawnSync(program, ['-V'], { encoding: 'utf8' });
  const folders = MODULES_WITH_TEMPORARY_FILES.filter(
    (name) => !buildOptions.includes(`--without-http_${name}_module`),
  );
  return `daemon off;
master_process off;
pid nginx.pid;
error_log stderr crit;
events {
  worker_connections 32768;
}
http {
  access_log off;
  default_type application/json;
  keepalive_requests 1000000000;
  keepalive_timeout 3600s;
  client_body_temp_path body;
${folders.map((name) => `  ${name}_temp_path ${name};`).join('\n')}
  server {
    listen 127.0.0.1:${port} backlog=16384;
    location /classify {
      return 200 '${RESPONSE_BODY}';
    }
    location /status {
      stub_status;
    }
  }
}
`;
}
