/** Memory per user: a process with 20,000 users beside one that sends as fast as it can with 64. */
import { readFileSync } from 'node:fs';
import {
  atMost,
  type Effort,
  type FigureResult,
  medianText,
  type Say,
  takeTurns,
} from '@batchwise/bench-harness';
import { GeneratorProcess, nodeCommand } from './generator-process.js';
import type { MemoryLoad, MemoryUse } from './memory-load.js';
import { withServer } from './native-server.js';

const MANY_USERS = 20_000;
const FEW_USERS = 64;
/** Users that are started per second. */
const SPAWN_RATE = 4000;
/** Of connections and what else a process opens. */
const ENOUGH_FILES = 1.1 * MANY_USERS;
const BYTES_PER_KB = 1000;
const BYTES_PER_MB = 1e6;

const FEW = '64 users without pauses';
const SEED = '20,000 users, pauses of 0.01 to 2 s';
const SLOW = '20,000 users, pauses of 5 to 15 s';

const LOADS: Readonly<Record<string, Omit<MemoryLoad, 'url' | 'settleMs'>>> = {
  [FEW]: { users: FEW_USERS, spawnRate: SPAWN_RATE, waitTime: { kind: 'constant', seconds: 0 } },
  [SEED]: { users: MANY_USERS, spawnRate: SPAWN_RATE, waitTime: { kind: 'between', min: 0.01, max: 2 } },
  [SLOW]: { users: MANY_USERS, spawnRate: SPAWN_RATE, waitTime: { kind: 'between', min: 5, max: 15 } },
};

export async function measureMemory({ rounds, warmupMs, timedMs }: Effort, say: Say): Promise<FigureResult> {
  const names = Object.keys(LOADS);
  const settleMs = warmupMs + timedMs;
  const results = await withServer((server) =>
    takeTurns(
      Object.fromEntries(
        Object.entries(LOADS).map(([name, load]) => [
          name,
          () => memoryUse({ ...load, url: server.url, settleMs }),
        ]),
      ),
      rounds,
      say,
    ),
  );
  const of = (name: string, pick: (use: MemoryUse) => number) => (results[name] ?? []).map(pick);
  const perUserKb = (name: string, pick: (use: MemoryUse) => number) => {
    const few = of(FEW, pick);
    return of(name, pick).map(
      (bytes, round) => (bytes - (few[round] ?? Number.NaN)) / (MANY_USERS - FEW_USERS) / BYTES_PER_KB,
    );
  };
  const goal = atMost(10);
  return {
    tables: [
      {
        head: ['', 'heap MB', 'resident MB', 'connections', 'requests/s', 'failed'],
        rows: names.map((name) => [
          name,
          medianText(
            of(name, ({ heapBytes }) => heapBytes / BYTES_PER_MB),
            0,
          ),
          medianText(
            of(name, ({ rssBytes }) => rssBytes / BYTES_PER_MB),
            0,
          ),
          medianText(
            of(name, ({ connections }) => connections),
            0,
          ),
          medianText(
            of(name, ({ perSecond }) => perSecond),
            0,
          ),
          medianText(
            of(name, ({ failed }) => failed),
            0,
          ),
        ]),
      },
    ],
    verdicts: [SEED, SLOW].flatMap((name) => [
      {
        label: `${name}: heap, kB per user`,
        samples: perUserKb(name, ({ heapBytes }) => heapBytes),
        digits: 1,
        goal,
      },
      {
        label: `… resident, kB per user`,
        samples: perUserKb(name, ({ rssBytes }) => rssBytes),
        digits: 1,
        goal,
      },
    ]),
    notes: fileLimitNotes(),
    raw: results,
  };
}

async function memoryUse(load: MemoryLoad): Promise<MemoryUse> {
  const command = nodeCommand('memory-load.js', load, ['--expose-gc']);
  return JSON.parse(await new GeneratorProcess('batchwise', command).ended()) as MemoryUse;
}

/** Node raises its own limit to the hard one. */
function fileLimitNotes(): string[] {
  const [, limit] = /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
  if (limit === undefined || Number(limit) >= ENOUGH_FILES) return [];
  return [
    `A process may open ${limit} files here (ulimit -Hn), about as many as there are users: some requests may fail for want of a connection.`,
  ];
}
