/** A process with many users, that prints how much memory it uses with them. */
import { pauseMs } from '@batchwise/bench-harness';
import { startRun, type WaitTime } from '@batchwise/load';
import { runSpec } from './run-spec.js';

export interface MemoryLoad {
  readonly url: string;
  readonly users: number;
  readonly spawnRate: number;
  readonly waitTime: WaitTime;
  /** From when all users are there. */
  readonly settleMs: number;
}

export interface MemoryUse {
  /** What JavaScript objects and their buffers use after a garbage collection. */
  readonly heapBytes: number;
  /** What the kernel counts as resident, after the same collection. */
  readonly rssBytes: number;
  readonly connections: number;
  readonly perSecond: number;
  readonly failed: number;
}

/** Longer than it takes: the run is stopped by hand. */
const SECONDS = 3600;
const POLL_MS = 200;
/** Of which the rate is the mean. */
const LAST_SECONDS = 3;

const { url, users, spawnRate, waitTime, settleMs } = JSON.parse(process.argv[2] as string) as MemoryLoad;
const traffic = { kind: 'users', users, spawnRate, waitTime } as const;
const run = await startRun(runSpec({ url, traffic, seconds: SECONDS }));
while (run.report().series.at(-1)?.users !== users) await pauseMs(POLL_MS);
await pauseMs(settleMs);
const use = memoryUse();
await run.stop();
process.stdout.write(JSON.stringify(use));

function memoryUse(): MemoryUse {
  const { series, total } = run.report();
  const last = series.slice(-LAST_SECONDS);
  // Twice: objects with finalizers are freed in the second collection.
  globalThis.gc?.();
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  return {
    heapBytes: heapUsed + external,
    rssBytes: rss,
    connections: last.at(-1)?.connections ?? 0,
    perSecond: last.reduce((sum, { ok }) => sum + ok, 0) / last.length,
    failed: total.failed + total.rejected,
  };
}
