/** Requests per CPU-second of the generator: as many as it can send over 64 connections. */
import {
  atLeast,
  type Effort,
  type FigureResult,
  type Goal,
  medianText,
  nowMs,
  pairedRatios,
  pauseMs,
  type Say,
  spreadText,
  takeTurns,
} from '@batchwise/bench-harness';
import { GeneratorProcess } from './generator-process.js';
import { batchwise, type Generator, installedGenerators, type OwnFigures } from './generators.js';
import { type NativeServer, withServer } from './native-server.js';
import { cpuSecondsOf } from './process-tree.js';

const CONNECTIONS = 64;
/** A generator may be slow to start and to stop; nothing of that is in the timed part. */
const SPARE_SECONDS = 2;

const GOALS: Readonly<Record<string, Goal>> = {
  autocannon: atLeast(0.9),
  'Locust FastHttpUser': atLeast(3),
  'Locust HttpUser': atLeast(3),
};

interface Timed {
  readonly perSecond: number;
  readonly perCpuSecond: number;
  readonly cpuShare: number;
  readonly serverCpuShare: number;
  readonly connections: number;
  readonly own: OwnFigures;
}

export async function measureThroughput(effort: Effort, say: Say): Promise<FigureResult> {
  const { generators, notes } = installedGenerators();
  const results = await withServer((server) =>
    takeTurns(
      Object.fromEntries(generators.map((one) => [one.name, () => timed(one, server, effort)])),
      effort.rounds,
      say,
    ),
  );
  const of = (name: string, pick: (timed: Timed) => number) => (results[name] ?? []).map(pick);
  const perCpuSecond = (name: string) => of(name, (timed) => timed.perCpuSecond);
  const others = generators.map(({ name }) => name).filter((name) => name !== batchwise.name);
  return {
    tables: [
      {
        head: [
          '',
          'requests/CPU-s',
          'min–max',
          'requests/s',
          'CPU',
          'server CPU',
          'p50 ms',
          'p99 ms',
          'failed',
        ],
        rows: generators.map(({ name }) => [
          name,
          medianText(perCpuSecond(name), 0),
          spreadText(perCpuSecond(name), 0),
          medianText(
            of(name, (timed) => timed.perSecond),
            0,
          ),
          medianText(
            of(name, (timed) => timed.cpuShare),
            2,
          ),
          medianText(
            of(name, (timed) => timed.serverCpuShare),
            2,
          ),
          medianText(
            of(name, ({ own }) => own.p50Ms),
            2,
          ),
          medianText(
            of(name, ({ own }) => own.p99Ms),
            2,
          ),
          String(of(name, ({ own }) => own.failed).reduce((sum, failed) => sum + failed, 0)),
        ]),
      },
    ],
    verdicts: others.map((name) => {
      const goal = GOALS[name];
      return {
        label: `requests per CPU-second, batchwise ÷ ${name}`,
        samples: pairedRatios(perCpuSecond(batchwise.name), perCpuSecond(name)),
        digits: 2,
        ...(goal !== undefined && { goal }),
      };
    }),
    notes,
    raw: results,
  };
}

/** The timed part begins after a warm-up that starts with the first requests. */
async function timed(generator: Generator, server: NativeServer, effort: Effort): Promise<Timed> {
  const before = await server.counts();
  const seconds = (effort.warmupMs + effort.timedMs) / 1000 + SPARE_SECONDS;
  const command = generator.command({ url: server.url, connections: CONNECTIONS, seconds });
  const running = new GeneratorProcess(generator.name, command);
  const ended = running.ended();
  await Promise.race([ended, server.requestsAfter(before, 1)]);
  await pauseMs(effort.warmupMs);
  const first = await stateOf(server, running.pid);
  await pauseMs(effort.timedMs);
  const last = await stateOf(server, running.pid);
  if (running.hasEnded) throw new Error(`${generator.name} ended before the timed part did.`);
  const own = generator.read(await ended);
  const requests = last.requests - first.requests;
  const elapsed = (last.atMs - first.atMs) / 1000;
  const cpuSeconds = last.cpuSeconds - first.cpuSeconds;
  return {
    perSecond: requests / elapsed,
    perCpuSecond: requests / cpuSeconds,
    cpuShare: cpuSeconds / elapsed,
    serverCpuShare: (last.serverCpuSeconds - first.serverCpuSeconds) / elapsed,
    connections: last.connections,
    own,
  };
}

async function stateOf(server: NativeServer, pid: number) {
  const counts = await server.counts();
  return {
    ...counts,
    cpuSeconds: cpuSecondsOf(pid),
    serverCpuSeconds: cpuSecondsOf(server.pid),
    atMs: nowMs(),
  };
}
