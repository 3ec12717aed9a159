/** The load generators that are compared: how each is started, and how its own figures are read. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AutocannonLoad } from './autocannon-load.js';
import type { BatchwiseLoad } from './batchwise-load.js';
import { type Command, nodeCommand } from './generator-process.js';
import { REQUEST_BODY } from './native-server.js';
import { findProgram, LOCUST, missingText, type Program, WRK } from './program.js';

export interface Load {
  readonly url: string;
  readonly connections: number;
  readonly seconds: number;
}

/** As the generator itself reports them. Times in milliseconds, NaN where it does not say. */
export interface OwnFigures {
  readonly ok: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface Generator {
  readonly name: string;
  command(load: Load): Command;
  read(output: string): OwnFigures;
}

export const batchwise: Generator = {
  name: 'batchwise',
  command({ url, connections, seconds }) {
    const load: BatchwiseLoad = {
      url,
      seconds,
      traffic: {
        kind: 'users',
        users: connections,
        spawnRate: 1000 * connections,
        waitTime: { kind: 'constant', seconds: 0 },
      },
    };
    return nodeCommand('batchwise-load.js', load);
  },
  read(output) {
    const { total } = JSON.parse(output);
    const { p50, p99, max } = total.latency;
    return { ok: total.ok, failed: total.failed + total.rejected, p50Ms: p50, p99Ms: p99, maxMs: max };
  },
};

export const autocannon: Generator = {
  name: 'autocannon',
  command(load) {
    return nodeCommand('autocannon-load.js', load satisfies AutocannonLoad);
  },
  read(output) {
    return JSON.parse(output) as OwnFigures;
  },
};

function wrkAt(program: string): Generator {
  return {
    name: 'wrk',
    command({ url, connections, seconds }) {
      const time = `${Math.ceil(seconds)}s`;
      const args = ['-t1', `-c${connections}`, `-d${time}`, '--timeout', '10s', '-s', wrkScript(), url];
      return { program, args };
    },
    read(output) {
      return JSON.parse(output.slice(output.lastIndexOf('\n{'))) as OwnFigures;
    },
  };
}

function locustAt(program: string, userClass: string): Generator {
  return {
    name: `Locust ${userClass}`,
    command({ url, connections, seconds }) {
      const { origin } = new URL(url);
      const file = new URL('../locust/locustfile.py', import.meta.url).pathname;
      const users = ['--users', String(connections), '--spawn-rate', String(connections)];
      const output = ['--headless', '--only-summary', '--json', '--skip-log'];
      const time = ['--run-time', `${Math.ceil(seconds)}s`, '--stop-timeout', '5'];
      return { program, args: ['-f', file, '--host', origin, ...users, ...time, ...output, userClass] };
    },
    read(output) {
      const [entry] = JSON.parse(output.slice(output.indexOf('['))) as LocustEntry[];
      if (entry === undefined) throw new Error('Locust reports no requests.');
      const times = Object.entries(entry.response_times).map(([ms, count]) => [Number(ms), count] as const);
      return {
        ok: entry.num_requests - entry.num_failures,
        failed: entry.num_failures,
        p50Ms: percentileOf(times, 0.5),
        p99Ms: percentileOf(times, 0.99),
        maxMs: entry.max_response_time,
      };
    },
  };
}

/** Of Locust's `--json`. */
interface LocustEntry {
  readonly num_requests: number;
  readonly num_failures: number;
  readonly max_response_time: number;
  /** How often each time occurred, in rounded milliseconds. */
  readonly response_times: Readonly<Record<string, number>>;
}

function percentileOf(times: readonly (readonly [ms: number, count: number])[], share: number): number {
  const total = times.reduce((sum, [, count]) => sum + count, 0);
  let seen = 0;
  for (const [ms, count] of [...times].sort(([a], [b]) => a - b)) {
    seen += count;
    if (seen >= share * total) return ms;
  }
  return Number.NaN;
}

/** Those that are installed, ours first, and a note on each one that is not. */
export function installedGenerators(): { generators: Generator[]; notes: string[] } {
  const generators = [batchwise, autocannon];
  const notes: string[] = [];
  const add = (program: Program, of: (path: string) => Generator[]) => {
    const path = findProgram(program);
    if (path === undefined) notes.push(missingText(program));
    else generators.push(...of(path));
  };
  add(LOCUST, (path) => [locustAt(path, 'FastHttpUser'), locustAt(path, 'HttpUser')]);
  add(WRK, (path) => [wrkAt(path)]);
  return { generators, notes };
}

export function installedWrk(): Generator | undefined {
  const path = findProgram(WRK);
  return path === undefined ? undefined : wrkAt(path);
}

let scriptPath: string | undefined;

function wrkScript(): string {
  if (scriptPath !== undefined) return scriptPath;
  const folder = mkdtempSync(join(tmpdir(), 'batchwise-bench-'));
  process.on('exit', () => rmSync(folder, { recursive: true }));
  scriptPath = join(folder, 'post.lua');
  writeFileSync(scriptPath, LUA);
  return scriptPath;
}

const LUA = `wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.body = [==[${REQUEST_BODY}]==]
function done(summary, latency)
  local e = summary.errors
  local failed = e.status + e.connect + e.read + e.write + e.timeout
  io.write(string.format('\\n{"ok": %d, "failed": %d, "p50Ms": %f, "p99Ms": %f, "maxMs": %f}\\n',
    summary.requests - failed, failed, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    latency.max / 1000))
end
`;
