/**
 * The seed's formula for the window: worst added latency = window + T(N) − T(1). It speaks of a device that is free
 * when the window ends, so the load here is bursts that never meet: a formula that leaves the queue out cannot be
 * held against one that has a queue.
 */
import {
  atMost,
  type Effort,
  type Figure,
  medianText,
  spreadText,
  takeTurns,
  type Verdict,
} from '@batchwise/bench-harness';
import type { DeviceName } from '../backends/device.js';
import { batchMs } from '../curve.js';
import { type Batching, type Route, runTrial, type TrialResult } from '../trial.js';

const WINDOW_MS = 2;
const MAX_BATCH_SIZE = 32;
const FORMULA_MS = WINDOW_MS + batchMs(MAX_BATCH_SIZE) - batchMs(1);
/** A window and the largest batch, with room to spare. */
const EVERY_MS = 60;

const BURSTS = { kind: 'bursts', mostItems: MAX_BATCH_SIZE, everyMs: EVERY_MS } as const;
/** A caller who is alone, straight to the backend: T(1) and the way there and back. */
const ALONE = { ...BURSTS, mostItems: 1 } as const;

interface Contender {
  readonly route: Route;
  readonly load: typeof BURSTS | typeof ALONE;
  readonly device?: DeviceName;
  readonly batching?: Batching;
}

const WINDOW: Batching = { maxBatchSize: MAX_BATCH_SIZE, maxWaitMs: WINDOW_MS };
const DIRECT = 'alone, no proxy';
/** The same bursts where nobody is batched and nobody waits: T(1) for each, and the client's own time for a burst. */
const STRAIGHT = 'no proxy, T(1) for each';
/** The same with a process in between, which any proxy is before it batches. */
const HOP = 'bare hop, T(1) for each';
/** What the way itself takes: the same bursts and the same window, nothing to compute. */
const WAY = 'window of 2 ms, T = 0';
const WINDOWED = 'window of 2 ms';
const GOAL = atMost(Number(FORMULA_MS.toFixed(2)));
const CONTENDERS: Readonly<Record<string, Contender>> = {
  [DIRECT]: { route: 'bare', load: ALONE },
  [STRAIGHT]: { route: 'bare', load: BURSTS, device: 'vit-each' },
  [HOP]: { route: 'bare-hop', load: BURSTS, device: 'vit-each' },
  [WAY]: { route: 'proxy', load: BURSTS, batching: WINDOW, device: 'none' },
  [WINDOWED]: { route: 'proxy', load: BURSTS, batching: WINDOW },
  adaptive: { route: 'proxy', load: BURSTS, batching: { maxBatchSize: MAX_BATCH_SIZE } },
};

/** What is called added: what one takes more than another. */
interface Comparison {
  readonly of: string;
  readonly beyond: string;
  readonly says: string;
}

const COMPARISONS: readonly Comparison[] = [
  { of: WINDOWED, beyond: HOP, says: `${WINDOWED}, beyond a bare hop` },
  { of: WINDOWED, beyond: STRAIGHT, says: `${WINDOWED}, beyond no proxy` },
  { of: WINDOWED, beyond: DIRECT, says: `${WINDOWED}, beyond the p50 of one alone` },
  { of: 'adaptive', beyond: STRAIGHT, says: 'adaptive, beyond no proxy' },
  { of: HOP, beyond: STRAIGHT, says: 'bare hop, beyond no proxy' },
];

const MEASURES = {
  p50: ({ p50Ms }: TrialResult) => p50Ms,
  p90: ({ p90Ms }: TrialResult) => p90Ms,
  p99: ({ p99Ms }: TrialResult) => p99Ms,
  worst: ({ maxMs }: TrialResult) => maxMs,
} as const;

export const formula: Figure = {
  name: 'formula',
  title: `Bursts of 1 to ${MAX_BATCH_SIZE}: ms added, by the formula at worst ${WINDOW_MS} + T(${MAX_BATCH_SIZE}) − T(1) = ${FORMULA_MS.toFixed(2)}`,

  async measure(effort, say) {
    const turns = Object.fromEntries(
      Object.entries(CONTENDERS).map(([name, contender]) => [name, () => trialOf(contender, effort)]),
    );
    const raw = await takeTurns(turns, effort.rounds, say);
    const verdicts = COMPARISONS.flatMap((comparison) => verdictsOf(comparison, raw));
    const rows = Object.entries(raw).map(([name, results]) => [
      name,
      medianText(
        results.map(({ answered }) => answered),
        0,
      ),
      medianText(
        results.map(({ p50Ms }) => p50Ms),
        2,
      ),
      medianText(
        results.map(({ p90Ms }) => p90Ms),
        2,
      ),
      medianText(
        results.map(({ p99Ms }) => p99Ms),
        2,
      ),
      medianText(
        results.map(({ maxMs }) => maxMs),
        2,
      ),
      spreadText(
        results.map(({ maxMs }) => maxMs),
        2,
      ),
      medianText(
        results.map(({ device }) => device.items / device.batches),
        1,
      ),
      medianText(
        results.map(({ device }) => device.lateP99Ms),
        2,
      ),
      medianText(
        results.map(({ device }) => device.lateMaxMs),
        2,
      ),
    ]);
    return {
      tables: [
        {
          head: [
            '',
            'requests',
            'p50 ms',
            'p90 ms',
            'p99 ms',
            'max ms',
            'min–max',
            'mean batch',
            'late p99 ms',
            'late max ms',
          ],
          rows,
        },
      ],
      verdicts,
      notes: [
        `added: p50 less p50, p90 less p90 and so on of the same bursts, one every ${EVERY_MS} ms, in the same round; beyond one alone: less the p50 of a caller who is alone and asks the backend itself`,
        `${WAY}: beyond the 2 ms it is the CPU time of a burst in three processes, of which the formula knows nothing`,
        'client and backend collect young garbage between two bursts, the proxy and the bare hop whenever Node does; with node:http2 that takes some milliseconds',
        'late: how much later than the curve says the device was done. It is part of what is called added here, and so are timers, which are up to 1 ms late',
      ],
      raw,
    };
  },
};

function verdictsOf({ of, beyond, says }: Comparison, raw: Record<string, TrialResult[]>): Verdict[] {
  return Object.entries(MEASURES).map(([measure, value]): Verdict => {
    const lessMs = (raw[beyond] ?? []).map(beyond === DIRECT ? MEASURES.p50 : value);
    const samples = (raw[of] ?? []).map((result, round) => value(result) - (lessMs[round] ?? Number.NaN));
    const verdict = { label: `ms added, ${measure}, ${says}`, samples, digits: 2 };
    // The formula is the window's: the adaptive policy owes it nothing, and is here to be compared.
    return of === WINDOWED && measure !== 'p50' ? { ...verdict, goal: GOAL } : verdict;
  });
}

function trialOf(
  { route, load, device = 'vit', batching }: Contender,
  { warmupMs, timedMs }: Effort,
): Promise<TrialResult> {
  return runTrial({
    route,
    load: { ...load, warmupMs, timedMs },
    device,
    isHeated: true,
    ...(batching && { batching }),
  });
}
