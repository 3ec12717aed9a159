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
/** What the way itself takes: the same bursts and the same window, nothing to compute. */
const WAY = 'window of 2 ms, T = 0';
const WINDOWED = 'window of 2 ms';
const GOAL = atMost(Number(FORMULA_MS.toFixed(2)));
const CONTENDERS: Readonly<Record<string, Contender>> = {
  [DIRECT]: { route: 'bare', load: ALONE },
  [WAY]: { route: 'proxy', load: BURSTS, batching: WINDOW, device: 'none' },
  [WINDOWED]: { route: 'proxy', load: BURSTS, batching: WINDOW },
  adaptive: { route: 'proxy', load: BURSTS, batching: { maxBatchSize: MAX_BATCH_SIZE } },
};

export const formula: Figure = {
  name: 'formula',
  title: `Bursts of 1 to ${MAX_BATCH_SIZE}: ms added, by the formula at worst ${WINDOW_MS} + T(${MAX_BATCH_SIZE}) − T(1) = ${FORMULA_MS.toFixed(2)}`,

  async measure(effort, say) {
    const turns = Object.fromEntries(
      Object.entries(CONTENDERS).map(([name, contender]) => [name, () => trialOf(contender, effort)]),
    );
    const raw = await takeTurns(turns, effort.rounds, say);
    const directMs = (raw[DIRECT] ?? []).map(({ p50Ms }) => p50Ms);
    const added = (name: string, value: (result: TrialResult) => number) =>
      (raw[name] ?? []).map((result, round) => value(result) - (directMs[round] ?? Number.NaN));
    const verdicts = Object.keys(CONTENDERS)
      .filter((name) => name !== DIRECT && name !== WAY)
      .flatMap((name): Verdict[] => {
        const p99 = {
          label: `ms added, p99, ${name}`,
          samples: added(name, ({ p99Ms }) => p99Ms),
          digits: 2,
        };
        const worst = {
          label: `ms added, worst, ${name}`,
          samples: added(name, ({ maxMs }) => maxMs),
          digits: 2,
        };
        return [
          { label: `ms added, p50, ${name}`, samples: added(name, ({ p50Ms }) => p50Ms), digits: 2 },
          // The formula is the window's: the adaptive policy owes it nothing, and is here to be compared.
          name === WINDOWED ? { ...p99, goal: GOAL } : p99,
          name === WINDOWED ? { ...worst, goal: GOAL } : worst,
        ];
      });
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
        `added: beyond the p50 of a caller who is alone and asks the backend itself, in the same round; a burst every ${EVERY_MS} ms`,
        `${WAY}: beyond the 2 ms it is the CPU time of a burst in three processes, of which the formula knows nothing`,
        'late: how much later than the curve says the device was done. It is part of what is called added here, and so are timers, which are up to 1 ms late',
      ],
      raw,
    };
  },
};

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
