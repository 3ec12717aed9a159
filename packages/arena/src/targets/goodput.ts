/** Target 4: goodput against the clairvoyant optimum. */
import { goodputOptimum } from '../bounds/goodput-optimum.js';
import {
  type Cell,
  curveOf,
  itemsFor,
  type OpenKind,
  scenarioOf,
  targetLatencyMsOf,
  typicalBatch,
} from '../grid/grid-cell.js';
import { GRID_CURVES } from '../grid/grid-curves.js';
import { peer } from '../peers/peers.js';
import { measure } from '../simulation/measures.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import type { Contender } from '../simulation/scenario.js';
import { type BatchRun, type Run, simulate } from '../simulation/simulate.js';
import { LEARNED_BATCHES } from './contest.js';
import { type Extent, type Goal, seedsFrom, type Target } from './target.js';

interface Traffic {
  readonly kind: OpenKind;
  readonly load: number;
}

/** The time to compute the optimum grows with the square of the maximum batch size: fewer cells above this size. */
const LARGE_BATCH = 128;

const EXTENTS = {
  full: {
    curves: GRID_CURVES.map(({ name }) => name),
    traffic: [
      ...traffic('poisson', [0.3, 0.5, 0.7, 0.85, 0.95, 1.1, 1.3]),
      ...traffic('mmpp', [0.5, 0.8, 1.1]),
      ...traffic('on-off', [0.4, 0.7]),
      ...traffic('lognormal', [0.7]),
    ],
    largeTraffic: [
      ...traffic('poisson', [0.5, 0.85, 1.3]),
      ...traffic('mmpp', [0.8]),
      ...traffic('on-off', [0.4]),
    ],
    factors: [1.5, 2, 3],
    length: { batches: 250, least: 8_000, most: 16_000 },
  },
  quick: {
    curves: ['a', 'c', 'd', 'digits_cpu', 'b'],
    traffic: [...traffic('poisson', [0.7, 1.1, 1.3]), ...traffic('mmpp', [0.8]), ...traffic('on-off', [0.7])],
    largeTraffic: traffic('poisson', [0.85]),
    factors: [1.5, 3],
    length: { batches: 150, least: 5_000, most: 15_000 },
  },
};

const PEERS_SHOWN = ['bentoml', 'greedy', 'triton-10', 'nexus'];

export const goodput: Target = {
  number: 4,
  name: 'goodput',
  what: 'goodput ÷ clairvoyant, one slot, loads up to 1.3',
  goals: [
    ...pair('true', 'true curve', 0.985, 0.95),
    ...pair('learned', 'learned, after 200 batches', 0.975, 0.93),
    ...pair('cold', 'from cold', 0.95, 0.85),
  ],
  asides: [
    ...[1.5, 2, 3].map((factor) => ({
      what: `learned, target ${factor}·T(B)`,
      measure: 'learned',
      better: 'higher' as const,
      where: ({ targetFactor }: Cell) => targetFactor === factor,
    })),
    { what: 'with admission control, true curve', measure: 'true_admission', better: 'higher' },
    { what: 'with admission control, learned', measure: 'learned_admission', better: 'higher' },
    { what: 'with admission control, from cold', measure: 'cold_admission', better: 'higher' },
    ...PEERS_SHOWN.map((name) => ({ what: name, measure: measureOf(name), better: 'higher' as const })),
  ],
  family: { what: 'goodput', toBound: 'learned', toBestPeer: 'to_best_peer', better: 'higher' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { curves, traffic, largeTraffic, factors, length } = EXTENTS[extent];
    return curves.flatMap((curve) =>
      (curveOf({ curve }).maxBatchSize > LARGE_BATCH ? largeTraffic : traffic).flatMap((arrivals) =>
        factors.map((targetFactor) => {
          const family = `target ${targetFactor}·T(B)`;
          const cell = { target: 'goodput', family, curve, slots: 1, arrivals, targetFactor };
          return { ...cell, items: itemsFor(cell, length), seeds: seedsFrom(firstSeed, 1) };
        }),
      ),
    );
  },

  /** Measures the same number of items: the first ones from cold, the last ones of a longer run after learning. */
  async play(cell) {
    const seed = cell.seeds[0] as number;
    const learning = Math.ceil(1.2 * LEARNED_BATCHES * typicalBatch(cell));
    const learned = await learnedShares({ ...cell, items: cell.items + learning }, seed);
    const most = Math.max(...PEERS_SHOWN.map((name) => learned[measureOf(name)] as number));
    return {
      cell,
      measures: {
        ...(await coldShares(cell, seed)),
        ...learned,
        to_best_peer: (learned.learned ?? 0) / most,
      },
      bestPeer: PEERS_SHOWN.find((name) => learned[measureOf(name)] === most) ?? '',
    };
  },
};

/** From the first item on, with and without the true curve. */
async function coldShares(cell: Cell, seed: number): Promise<Record<string, number>> {
  const scenario = scenarioOf(cell, seed);
  const run = await simulate(scenario, VARIANTS.noAdmission);
  const best = bestOf(cell, run.arrivedAt);
  const shareOf = async (contender: Contender) => measure(await simulate(scenario, contender)).goodput / best;
  return {
    cold: measure(run).goodput / best,
    cold_admission: await shareOf(VARIANTS.adaptive),
    true: await shareOf(VARIANTS.trueCurveNoAdmission),
    true_admission: await shareOf(VARIANTS.trueCurve),
  };
}

async function learnedShares(cell: Cell, seed: number): Promise<Record<string, number>> {
  const scenario = scenarioOf(cell, seed);
  const ours = await simulate(scenario, VARIANTS.noAdmission);
  // From a batch of the policy on, including the items that wait then. The optimum starts from the same state.
  const { first: from, startedAt } = ours.batches[
    Math.min(LEARNED_BATCHES, Math.floor(ours.batches.length / 2))
  ] as BatchRun;
  const best = bestOf(cell, ours.arrivedAt.subarray(from), startedAt);
  const shareOf = (run: Run) => measure(run, from).goodput / best;
  const shares: Record<string, number> = {
    learned: shareOf(ours),
    learned_admission: shareOf(await simulate(scenario, VARIANTS.adaptive)),
  };
  for (const name of PEERS_SHOWN) shares[measureOf(name)] = shareOf(await simulate(scenario, peer(name)));
  return shares;
}

/** The optimal goodput of these arrivals. */
function bestOf(cell: Cell, arrivedAt: Float64Array, freeFrom?: number): number {
  return goodputOptimum(arrivedAt, curveOf(cell), targetLatencyMsOf(cell), undefined, freeFrom).goodput;
}

function measureOf(name: string): string {
  return name.replace('-', '_');
}

function traffic(kind: OpenKind, loads: readonly number[]): Traffic[] {
  return loads.map((load) => ({ kind, load }));
}

function pair(measure: string, what: string, mean: number, worst: number): Goal[] {
  return [
    { id: `goodput_${measure}_mean`, what, measure, over: 'mean', better: 'higher', goal: mean },
    { id: `goodput_${measure}_worst`, what, measure, over: 'worst', better: 'higher', goal: worst },
  ];
}
