/**
 * The seed's formula for the window policy: worst added latency = window + T(N) − T(1). It assumes that the device is
 * idle at the end of the window, without a queue. So the load is bursts that do not overlap.
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
/** Much longer than a window and the largest batch. */
const EVERY_MS = 60;

const BURSTS = { kind: 'bursts', mostItems: MAX_BATCH_SIZE, everyMs: EVERY_MS } as const;
/** Single requests. Direct to the backend: T(1) and the round trip. */
const SINGLE = { ...BURSTS, mostItems: 1 } as const;

interface Contender {
  readonly route: Route;
  readonly load: typeof BURSTS | typeof SINGLE;
  readonly device?: DeviceName;
  readonly batching?: Batching;
}

const WINDOW: Batching = { maxBatchSize: MAX_BATCH_SIZE, maxWaitMs: WINDOW_MS };
const DIRECT = 'single caller, no proxy';
/** The same bursts without batching and queue: T(1) for each request, and the time of the client for a burst. */
const STRAIGHT = 'no proxy, T(1) for each';
/** The same with a process in between, the minimal overhead of any proxy. */
const HOP = 'bare hop, T(1) for each';
/** The same bursts and window with a backend that answers at once: the overhead of the three processes. */
const INSTANT = 'window of 2 ms, T = 0';
const WINDOWED = 'window of 2 ms';
const GOAL = atMost(Number(FORMULA_MS.toFixed(2)));
const CONTENDERS: Readonly<Record<string, Contender>> = {
  [DIRECT]: { route: 'bare', load: SINGLE },
  [STRAIGHT]: { route: 'bare', load: BURSTS, device: 'vit-each' },
  [HOP]: { route: 'bare-hop', load: BURSTS, device: 'vit-each' },
  [INSTANT]: { route: 'proxy', load: BURSTS, batching: WINDOW, device: 'none' },
  [WINDOWED]: { route: 'proxy', load: BURSTS, batching: WINDOW },
  adaptive: { route: 'proxy', load: BURSTS, batching: { maxBatchSize: MAX_BATCH_SIZE } },
};

/** The latency of one contender minus that of another. */
interface Comparison {
  readonly of: string;
  readonly beyond: string;
  readonly label: string;
}

const COMPARISONS: readonly Comparison[] = [
  { of: WINDOWED, beyond: HOP, label: `${WINDOWED}, beyond a bare hop` },
  { of: WINDOWED, beyond: STRAIGHT, label: `${WINDOWED}, beyond no proxy` },
  { of: WINDOWED, beyond: DIRECT, label: `${WINDOWED}, beyond the p50 of a single caller` },
  { of: 'adaptive', beyond: STRAIGHT, label: 'adaptive, beyond no proxy' },
  { of: HOP, beyond: STRAIGHT, label: 'bare hop, beyond no proxy' },
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
        `added: p50 minus p50, p90 minus p90 and so on, with the same bursts, one every ${EVERY_MS} ms, in the same round; beyond the p50 of a single caller: minus the p50 of single requests direct to the backend`,
        `${INSTANT}: the latency above 2 ms is the CPU time of a burst in three processes, which is not part of the formula`,
        'client and backend collect young garbage between two bursts, the proxy and the bare hop whenever Node does; with node:http2 this takes some milliseconds',
        'late: delay of the device beyond the duration of the curve. It is part of the added latency, as is the delay of timers, up to 1 ms',
      ],
      raw,
    };
  },
};

function verdictsOf({ of, beyond, label }: Comparison, raw: Record<string, TrialResult[]>): Verdict[] {
  return Object.entries(MEASURES).map(([measure, value]): Verdict => {
    const lessMs = (raw[beyond] ?? []).map(beyond === DIRECT ? MEASURES.p50 : value);
    const samples = (raw[of] ?? []).map((result, round) => value(result) - (lessMs[round] ?? Number.NaN));
    const verdict = { label: `ms added, ${measure}, ${label}`, samples, digits: 2 };
    // The formula is about the window policy; the adaptive policy has no goal and is reported for comparison.
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
