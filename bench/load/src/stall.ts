/** What each generator shows of a server that stalls for a second in the midst of a run. */
import {
  atLeast,
  type Effort,
  type FigureResult,
  medianText,
  pauseMs,
  type Say,
  spreadText,
  takeTurns,
} from '@batchwise/bench-harness';
import type { LoadReport, Traffic } from '@batchwise/load';
import type { AutocannonLoad } from './autocannon-load.js';
import type { BatchwiseLoad } from './batchwise-load.js';
import { type Command, GeneratorProcess, nodeCommand } from './generator-process.js';
import { autocannon, batchwise, installedWrk } from './generators.js';
import { type NativeServer, withServer } from './native-server.js';
import { missingText, WRK } from './program.js';

const RUN_SECONDS = 6;
const STALL_AFTER_MS = 2000;
const STALL_MS = 1000;
const PER_SECOND = 1000;
const CONNECTIONS = 64;
const MAX_IN_FLIGHT = 10_000;

interface Shown {
  readonly requests: number;
  readonly notSent: number;
  readonly failed: number;
  /** From the intended start; of other generators, what they call latency. */
  readonly p99Ms: number;
  readonly maxMs: number;
  /** From the actual start; NaN of other generators. */
  readonly actualP99Ms: number;
  readonly actualMaxMs: number;
  /** What p99 would be if requests had come evenly, whatever the server did. */
  readonly trueP99Ms: number;
}

interface Contender {
  readonly name: string;
  command(url: string): Command;
  read(output: string): Omit<Shown, 'trueP99Ms'>;
}

const OPEN = `batchwise, ${PER_SECOND.toLocaleString('en')}/s`;

export async function measureStall({ rounds }: Effort, say: Say): Promise<FigureResult> {
  const { contenders, notes } = installedContenders();
  const results = await withServer((server) =>
    takeTurns(Object.fromEntries(contenders.map((one) => [one.name, () => shown(one, server)])), rounds, say),
  );
  const of = (name: string, pick: (shown: Shown) => number) => (results[name] ?? []).map(pick);
  const cell = (name: string, pick: (shown: Shown) => number) => {
    const samples = of(name, pick);
    return samples.some(Number.isNaN) ? '' : medianText(samples, 0);
  };
  return {
    tables: [
      {
        head: [
          '',
          'requests',
          'not sent',
          'failed',
          'p99 ms',
          'min–max',
          'max ms',
          'actual p99',
          'actual max',
        ],
        rows: contenders.map(({ name }) => [
          name,
          cell(name, ({ requests }) => requests),
          cell(name, ({ notSent }) => notSent),
          cell(name, ({ failed }) => failed),
          cell(name, ({ p99Ms }) => p99Ms),
          spreadText(
            of(name, ({ p99Ms }) => p99Ms),
            0,
          ),
          cell(name, ({ maxMs }) => maxMs),
          cell(name, ({ actualP99Ms }) => actualP99Ms),
          cell(name, ({ actualMaxMs }) => actualMaxMs),
        ]),
      },
    ],
    verdicts: contenders.map(({ name }) => ({
      label: `${name}: p99 ÷ that of evenly spaced requests`,
      samples: of(name, ({ p99Ms, trueP99Ms }) => p99Ms / trueP99Ms),
      digits: 3,
      ...(name === OPEN && { goal: atLeast(0.95) }),
    })),
    notes,
    raw: results,
  };
}

function installedContenders(): { contenders: readonly Contender[]; notes: readonly string[] } {
  const wrk = installedWrk();
  const closed = (url: string) => ({ url, connections: CONNECTIONS, seconds: RUN_SECONDS });
  const contenders: Contender[] = [
    ours(OPEN, {
      kind: 'arrivals',
      schedule: { kind: 'constant', perSecond: PER_SECOND },
      maxInFlight: MAX_IN_FLIGHT,
    }),
    ours(`${OPEN}, at most ${CONNECTIONS} in flight`, {
      kind: 'arrivals',
      schedule: { kind: 'constant', perSecond: PER_SECOND },
      maxInFlight: CONNECTIONS,
    }),
    {
      name: `autocannon, ${PER_SECOND.toLocaleString('en')}/s`,
      command: (url) =>
        nodeCommand('autocannon-load.js', {
          ...closed(url),
          perSecond: PER_SECOND,
        } satisfies AutocannonLoad),
      read: (output) => othersFigures(autocannon, output),
    },
    {
      name: `batchwise, ${CONNECTIONS} users`,
      command: (url) => batchwise.command(closed(url)),
      read: oursFigures,
    },
    ...[autocannon, ...(wrk === undefined ? [] : [wrk])].map(
      (generator): Contender => ({
        name: `${generator.name}, ${CONNECTIONS} connections`,
        command: (url) => generator.command(closed(url)),
        read: (output) => othersFigures(generator, output),
      }),
    ),
  ];
  return { contenders, notes: wrk === undefined ? [missingText(WRK)] : [] };
}

function ours(name: string, traffic: Traffic): Contender {
  return {
    name,
    command: (url) =>
      nodeCommand('batchwise-load.js', { url, traffic, seconds: RUN_SECONDS } satisfies BatchwiseLoad),
    read: oursFigures,
  };
}

function oursFigures(output: string): Omit<Shown, 'trueP99Ms'> {
  const { total, arrivals } = JSON.parse(output) as LoadReport;
  return {
    requests: total.count,
    notSent: arrivals?.notSent ?? 0,
    failed: total.failed + total.rejected,
    p99Ms: total.intended.p99,
    maxMs: total.intended.max,
    actualP99Ms: total.latency.p99,
    actualMaxMs: total.latency.max,
  };
}

function othersFigures(generator: typeof autocannon, output: string): Omit<Shown, 'trueP99Ms'> {
  const { ok, failed, p99Ms, maxMs } = generator.read(output);
  return {
    requests: ok + failed,
    notSent: 0,
    failed,
    p99Ms,
    maxMs,
    actualP99Ms: Number.NaN,
    actualMaxMs: Number.NaN,
  };
}

async function shown(contender: Contender, server: NativeServer): Promise<Shown> {
  const before = await server.counts();
  const running = new GeneratorProcess(contender.name, contender.command(server.url));
  const ended = running.ended();
  await Promise.race([ended, server.requestsAfter(before, 1)]);
  await pauseMs(STALL_AFTER_MS);
  const { tookMs } = await server.stall(STALL_MS);
  if (running.hasEnded) throw new Error(`${contender.name} ended before the stall did.`);
  // Evenly spaced requests that come during the stall wait for the rest of it.
  const trueP99Ms = tookMs - 0.01 * 1000 * RUN_SECONDS;
  return { ...contender.read(await ended), trueP99Ms };
}
