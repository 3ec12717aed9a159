/** Load by wrk: a fixed number of connections, each with one request at a time. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface WrkResult {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers other than 2xx and 3xx, and sockets that failed. */
  readonly errors: number;
}

export interface WrkLoad {
  readonly url: string;
  readonly body: string;
  readonly connections: number;
  readonly seconds: number;
}

export async function wrk({ url, body, connections, seconds }: WrkLoad): Promise<WrkResult> {
  const folder = await mkdtemp(join(tmpdir(), 'batchwise-bench-'));
  try {
    const script = join(folder, 'post.lua');
    await writeFile(script, luaFor(body));
    const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script, url];
    const { stdout } = await run('wrk', args).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      throw new Error("wrk is needed to measure: install it with 'apt-get install wrk'.");
    });
    return JSON.parse(stdout.slice(stdout.lastIndexOf('\n{'))) as WrkResult;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function luaFor(body: string): string {
  return `wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.body = [==[${body}]==]
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('\\n{"perSecond": %f, "p50Ms": %f, "p99Ms": %f, "errors": %d}\\n',
    summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    e.status + e.connect + e.read + e.write + e.timeout))
end
`;
}
