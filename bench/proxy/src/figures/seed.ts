/** Maximum rate with a limit on p99: single calls, the window policy, and the adaptive policy. */
import {
  atLeast,
  type Effort,
  type Figure,
  medianOf,
  medianText,
  pairedRatios,
  spreadText,
  takeTurns,
  type Verdict,
} from '@batchwise/bench-harness';
import { batchMs } from '../curve.js';
import { type Batching, type Route, runTrial, type TrialResult } from '../trial.js';

const P99_MS = 50;
const MAX_BATCH_SIZE = 32;
/** Shares of the throughput of the device in full batches (with the proxy) or in batches of one (without). */
const SHARES = [0.5, 0.7, 0.8, 0.9];

interface Contender {
  readonly route: Route;
  readonly batching?: Batching;
  readonly capacity: number;
}

const IN_BATCHES = (1000 * MAX_BATCH_SIZE) / batchMs(MAX_BATCH_SIZE);
const CONTENDERS = {
  'no proxy': { route: 'bare', capacity: 1000 / batchMs(1) },
  'proxy, window of 2 ms': {
    route: 'proxy',
    batching: { maxBatchSize: MAX_BATCH_SIZE, maxWaitMs: 2 },
    capacity: IN_BATCHES,
  },
  'proxy, adaptive': { route: 'proxy', batching: { maxBatchSize: MAX_BATCH_SIZE }, capacity: IN_BATCHES },
} as const satisfies Record<string, Contender>;
type Name = keyof typeof CONTENDERS;
const NAMES = Object.keys(CONTENDERS) as Name[];

export const seed: Figure = {
  name: 'seed',
  title: `Maximum requests/s with p99 ≤ ${P99_MS} ms, Poisson arrivals, a device that takes the time of ViT-L/16 on an H200`,

  async measure(effort, say) {
    const turns: Record<string, () => Promise<TrialResult>> = {};
    for (const share of SHARES) {
      for (const name of NAMES) turns[keyOf(name, share)] = () => trialOf(CONTENDERS[name], share, effort);
    }
    const raw = await takeTurns(turns, effort.rounds, say);
    const most = (name: Name) =>
      Array.from({ length: effort.rounds }, (_, round) =>
        Math.max(0, ...SHARES.map((share) => rateWithin(raw[keyOf(name, share)]?.[round]))),
      );
    const verdicts = NAMES.slice(1).map(
      (name): Verdict => ({
        label: `requests/s within p99 ≤ ${P99_MS} ms, ${name} ÷ no proxy`,
        samples: pairedRatios(most(name), most('no proxy')),
        digits: 1,
        goal: atLeast(10),
      }),
    );
    return {
      tables: [
        {
          head: ['', `requests/s, p99 ≤ ${P99_MS}`, 'min–max', 'of capacity'],
          rows: NAMES.map((name) => [
            name,
            medianText(most(name), 0),
            spreadText(most(name), 0),
            `${((100 * medianOf(most(name))) / CONTENDERS[name].capacity).toFixed(0)} %`,
          ]),
        },
        {
          head: [
            'each rate',
            'offered/s',
            'answered/s',
            'p50 ms',
            'p99 ms',
            'mean batch',
            'late p99 ms',
            'failed',
          ],
          rows: NAMES.flatMap((name) =>
            SHARES.map((share) => rowOf(name, share, raw[keyOf(name, share)] ?? [])),
          ),
        },
      ],
      verdicts,
      notes: [
        'latencies count from the due time of a request, even if the client was late',
        'late: delay of the device beyond the duration of the curve; part of every latency',
      ],
      raw,
    };
  },
};

function keyOf(name: Name, share: number): string {
  return `${name}, ${Math.round(100 * share)} %`;
}

function trialOf(contender: Contender, share: number, { warmupMs, timedMs }: Effort): Promise<TrialResult> {
  const { route, batching, capacity } = contender;
  const load = { kind: 'open', perSecond: share * capacity, warmupMs, timedMs } as const;
  return runTrial({ route, load, device: 'vit', isHeated: true, ...(batching && { batching }) });
}

/** The rate, if p99 is within the limit and no request failed; otherwise 0. */
function rateWithin(result: TrialResult | undefined): number {
  return result !== undefined && result.p99Ms <= P99_MS && result.failed === 0 ? result.perSecond : 0;
}

function rowOf(name: Name, share: number, results: readonly TrialResult[]): string[] {
  const of = (value: (result: TrialResult) => number, digits: number) =>
    medianText(results.map(value), digits);
  const failed = results.reduce((total, result) => total + result.failed, 0);
  return [
    keyOf(name, share),
    (share * CONTENDERS[name].capacity).toFixed(0),
    of(({ perSecond }) => perSecond, 0),
    of(({ p50Ms }) => p50Ms, 1),
    of(({ p99Ms }) => p99Ms, 1),
    of(({ device }) => device.items / device.batches, 1),
    of(({ device }) => device.lateP99Ms, 2),
    String(failed),
  ];
}
