/** The figures, each measured side by side: contenders take turns, round after round. */
import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import {
  type Figure as CommonFigure,
  medianOf,
  pairedRatios,
  percentile,
  type Say,
  takeTurns,
} from '@batchwise/bench-harness';
import { OnnxModel } from '@batchwise/runners';
import { Client } from './client.js';
import {
  digitBody,
  isInstalled,
  PEERS,
  type Peer,
  startDigits,
  startEcho,
  startFlowers,
  startPeer,
  startPython,
  startStandIn,
  type Target,
  UNBATCHED,
} from './contenders.js';
import { spreadText } from './notation.js';
import { openLoop } from './open-loop.js';
import { simulateUsers } from './users.js';
import { type WrkResult, wrk } from './wrk.js';

export interface Effort {
  readonly rounds: number;
  readonly seconds: number;
}

/** It measures and tells the lines of the report. */
export type Figure = CommonFigure<Effort, readonly string[]>;

const CONNECTIONS = 64;

/** Until then V8 still compiles, on threads that take the cores from what is measured. */
const WARM_UP_SECONDS = 5;

type Results = Readonly<Record<string, readonly WrkResult[]>>;

/** By contender: one result a round. Only one of them runs at a time. */
function wrkTurns(
  starters: Readonly<Record<string, () => Promise<Target>>>,
  { rounds, seconds }: Effort,
  say: Say,
): Promise<Results> {
  const turns = Object.entries(starters).map(([name, start]) => [name, () => wrkTurn(start, seconds)]);
  return takeTurns<string, WrkResult>(Object.fromEntries(turns), rounds, say);
}

async function wrkTurn(start: () => Promise<Target>, seconds: number): Promise<WrkResult> {
  const { server, url, body } = await start();
  await wrk({ url, body, connections: CONNECTIONS, seconds: WARM_UP_SECONDS });
  const result = await wrk({ url, body, connections: CONNECTIONS, seconds });
  await server.stop();
  return result;
}

function ratios(results: Results, above: string, below: string): number[] {
  return pairedRatios(rates(results[above]), rates(results[below]));
}

function rates(rounds: readonly WrkResult[] = []): number[] {
  return rounds.map(({ perSecond }) => perSecond);
}

function perSecondText(results: Results): string[] {
  return Object.entries(results).map(([name, rounds]) => {
    const errors = rounds.reduce((sum, { errors: count }) => sum + count, 0);
    const rate = Math.round(medianOf(rates(rounds)));
    const [p50, p99] = [rounds.map(({ p50Ms }) => p50Ms), rounds.map(({ p99Ms }) => p99Ms)].map(medianOf);
    return `  ${name}: ${rate} requests/s, p50 ${p50?.toFixed(1)} ms, p99 ${p99?.toFixed(1)} ms, ${errors} errors`;
  });
}

const throughput: Figure = {
  name: 'throughput',
  title: 'digits, 64 connections',
  async measure(effort, say) {
    const starters = {
      echo: startEcho,
      batched: () => startDigits(),
      unbatched: () => startDigits(UNBATCHED),
    };
    const results = await wrkTurns(starters, effort, say);
    return [
      `batched ÷ Fastify echo: ${spreadText(ratios(results, 'batched', 'echo'))}, goal ≥ 0.6`,
      `batched ÷ unbatched: ${spreadText(ratios(results, 'batched', 'unbatched'))}, goal ≥ 1.3`,
      ...perSecondText(results),
    ];
  },
};

const standIn: Figure = {
  name: 'stand-in',
  title: 'a runner that takes the time of ViT-L/16 on an H200, 64 connections',
  async measure(effort, say) {
    const starters = { batched: () => startStandIn(), unbatched: () => startStandIn(UNBATCHED) };
    const results = await wrkTurns(starters, effort, say);
    return [
      `batched ÷ unbatched: ${spreadText(ratios(results, 'batched', 'unbatched'), 1)}, goal ≥ 10`,
      ...perSecondText(results),
    ];
  },
};

const latency: Figure = {
  name: 'latency',
  title: 'one connection, against the model called in process',
  async measure({ rounds, seconds }, say) {
    const added: number[] = [];
    const inProcess: number[] = [];
    const served: number[] = [];
    for (let round = 0; round < rounds; round++) {
      say(`round ${round + 1} of ${rounds}`);
      const direct = await directP50Ms();
      const { server, url, body } = await startDigits();
      await wrk({ url, body, connections: 1, seconds: 1 });
      const { p50Ms } = await wrk({ url, body, connections: 1, seconds });
      await server.stop();
      inProcess.push(direct);
      served.push(p50Ms);
      added.push(p50Ms - direct);
    }
    return [
      `added p50: ${spreadText(added)} ms, goal ≤ 1`,
      `  in process ${medianOf(inProcess).toFixed(2)} ms, served ${medianOf(served).toFixed(2)} ms`,
    ];
  },
};

/** The model on its thread, called directly, one digit after the other. */
async function directP50Ms(): Promise<number> {
  const model = new OnnxModel({
    file: fileURLToPath(new URL('../../../models/digits.onnx', import.meta.url)),
  });
  await model.load();
  const { instances } = JSON.parse(digitBody()) as { instances: number[][] };
  const samples: number[] = [];
  const { signal } = new AbortController();
  for (let i = 0; i < 3000; i++) {
    const tensor = {
      datatype: 'FP32',
      shape: [1, 1, 8, 8],
      data: Float32Array.from(instances[0] ?? []),
    } as const;
    const startedAt = performance.now();
    await model.infer(new Map([['input', tensor]]), {
      outputs: undefined,
      signal,
      timeoutMs: 10_000,
      ownsInputs: true,
    });
    if (i >= 1000) samples.push(performance.now() - startedAt);
  }
  await model.close();
  return medianOf(samples);
}

const OVERLOAD_LATENCY_MS = 200;

const overload: Figure = {
  name: 'overload',
  title: 'callers who come at 1.5 × capacity for a minute',
  async measure(_effort, say) {
    const { server, url, body } = await startStandIn({
      BATCHWISE__RUNNERS__BATCHING__MAX_LATENCY_MS: String(OVERLOAD_LATENCY_MS),
    });
    say('capacity');
    await wrk({ url, body, connections: 256, seconds: 2 });
    const capacity = await wrk({ url, body, connections: 128, seconds: 5 });
    const client = new Client(url, body, 2000);
    // Until connections are open: a thousand at once would wait for the kernel, not for the server.
    await openLoop(client, 1.5 * capacity.perSecond, 5);
    const memoryBefore = rssOf(server.pid);
    say('overload');
    const ownDelay = monitorEventLoopDelay({ resolution: 1 });
    ownDelay.enable();
    const answers = await openLoop(client, 1.5 * capacity.perSecond, 60);
    ownDelay.disable();
    const memoryAfter = rssOf(server.pid);
    say('after it');
    const after = await openLoop(client, 0.5 * capacity.perSecond, 4);
    client.close();
    await server.stop();
    const ok = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 429);
    const late = ok.filter(({ ms }) => ms > OVERLOAD_LATENCY_MS).length;
    const sentAway = refused.filter(({ ms }) => ms > OVERLOAD_LATENCY_MS / 2).length;
    const others = answers.length - ok.length - refused.length;
    const refusedMs = (share: number) =>
      percentile(
        refused.map(({ ms }) => ms),
        share,
      ).toFixed(1);
    const recovered = after.filter(({ sentAt }) => sentAt > 2000);
    return [
      `goodput ÷ capacity: ${((ok.length - late) / 60 / capacity.perSecond).toFixed(3)}, goal ≥ 0.95`,
      `refusals, p99: ${refusedMs(0.99)} ms, goal ≤ 5; p50 ${refusedMs(0.5)} ms, p90 ${refusedMs(0.9)} ms`,
      `  capacity ${Math.round(capacity.perSecond)}/s; answered ${ok.length}, of them ${late} later than ${OVERLOAD_LATENCY_MS} ms; refused ${refused.length}, of them ${sentAway} let in and sent away later; others ${others}`,
      `  of the time of each answer, the load's own: p99 ${(ownDelay.percentile(99) / 1e6 - 1).toFixed(1)} ms`,
      `  memory ${memoryBefore} → ${memoryAfter} MiB`,
      `  from 2 s after it: ${recovered.filter(({ status }) => status === 200).length} of ${recovered.length} answered, p99 ${percentile(
        recovered.map(({ ms }) => ms),
        0.99,
      ).toFixed(1)} ms`,
    ];
  },
};

const USER_LOADS = [
  { users: 50, spawnPerSecond: 10, seconds: 20, toBeat: 'median 4 ms, p99 14 ms' },
  { users: 200, spawnPerSecond: 50, seconds: 20, toBeat: 'p99 150 ms' },
  { users: 300, spawnPerSecond: 50, seconds: 20, toBeat: 'median 5 ms, max about 1000 ms' },
  {
    users: 400,
    spawnPerSecond: 50,
    seconds: 25,
    toBeat: 'median 32 ms, p99 34 ms, max 114 ms, a quarter failed at the start',
  },
  {
    users: 1000,
    spawnPerSecond: 100,
    seconds: 30,
    toBeat: '600 requests/s, median 220 ms, p90 770 ms, max about 10 s, 1 % failed',
  },
] as const;

const users: Figure = {
  name: 'users',
  title: 'the load tests of the serving notes, from a cold start',
  async measure(_effort, say) {
    const lines: string[] = [];
    for (const load of USER_LOADS) {
      say(`${load.users} users`);
      const { server, url, body } = await startFlowers();
      const client = new Client(url, body, Number.POSITIVE_INFINITY);
      const answers = await simulateUsers(client, load);
      client.close();
      await server.stop();
      const ms = answers.map((answer) => answer.ms);
      const failed = answers.filter(({ status }) => status !== 200).length;
      const [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1].map((share) => percentile(ms, share).toFixed(1));
      lines.push(
        `${load.users} users: ${Math.round(answers.length / load.seconds)} requests/s, median ${p50} ms, p90 ${p90}, p99 ${p99}, max ${max}; ${failed} of ${answers.length} failed. To beat: ${load.toBeat}`,
      );
    }
    return lines;
  },
};

const peers: Figure = {
  name: 'peers',
  title: 'other servers with the same model, 64 connections',
  async measure(effort, say) {
    const installed = (Object.keys(PEERS) as Peer[]).filter(isInstalled);
    const [first] = installed;
    if (first === undefined) return ['none is installed: bench/server/peers/<peer>/install installs one'];
    const starters: Record<string, () => Promise<Target>> = {
      onnx: () => startDigits(),
      python: () => startPython(first),
    };
    for (const peer of installed) starters[peer] = () => startPeer(peer);
    const results = await wrkTurns(starters, effort, say);
    const ratiosTo = (peer: Peer) =>
      ['python', 'onnx'].map((way) => `${way} ${spreadText(ratios(results, way, peer))}`);
    return [
      'batchwise serve with digits.onnx (onnx) or with the digits.py of the peers (python)',
      ...installed.map((peer) => `batchwise ÷ ${peer}: ${ratiosTo(peer).join(', ')}`),
      ...perSecondText(results),
    ];
  },
};

export const figures: readonly Figure[] = [throughput, standIn, latency, overload, users, peers];

/** In MiB, as Linux tells it. */
function rssOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024);
}
