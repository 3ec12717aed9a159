/** Target 11: two backends, one of them slower, against the best fixed split of the arrivals between them. */
import { type Cell, curveOf, itemsFor, ratePerMs, scenarioOf } from '../grid/grid-cell.js';
import { peer } from '../peers/peers.js';
import { poisson } from '../simulation/arrivals.js';
import { type Curve, capacity, slowedBy } from '../simulation/curve.js';
import { measure } from '../simulation/measures.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import { simulate } from '../simulation/simulate.js';
import { afterLearning, contest, outcomeOf } from './contest.js';
import { type Extent, seedsFrom, type Target } from './target.js';

const SLOWER = 3;
/** Shares of the arrivals for the faster backend. */
const SHARES = [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5];
/** A split that loads a backend more is not steady. */
const MAX_LOAD = 0.98;
const MIN_ITEMS = 500;
const hasSteps = ({ curve }: Cell): boolean => curve === 'd';

const EXTENTS = {
  full: {
    curves: ['a', 'c', 'd', 'resnet50', 'vit_l16', 'digits_cpu'],
    loads: [0.1, 0.3, 0.5, 0.7, 0.9],
    seeds: 3,
    length: { batches: 1000, least: 30_000, most: 150_000 },
  },
  quick: {
    curves: ['a', 'c', 'd', 'resnet50'],
    loads: [0.3, 0.7, 0.9],
    seeds: 2,
    length: { batches: 500, least: 15_000, most: 50_000 },
  },
};

export const unequalBackends: Target = {
  number: 11,
  name: 'unequal_backends',
  what: 'two backends, one of them 3 × slower, Poisson, no target',
  goals: [
    {
      id: 'unequal_mean',
      what: 'mean ÷ best fixed split',
      measure: 'mean_to_split',
      over: 'worst',
      better: 'lower',
      goal: 1.05,
      where: (cell) => !hasSteps(cell),
    },
    {
      id: 'unequal_stepped_mean',
      what: 'mean ÷ best fixed split, stepped curve',
      measure: 'mean_to_split',
      over: 'worst',
      better: 'lower',
      goal: 1.05,
      where: hasSteps,
    },
  ],
  family: { what: 'mean', toBound: 'mean_to_split', toBestPeer: 'mean_to_greedy', better: 'lower' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { curves, loads, seeds, length } = EXTENTS[extent];
    return curves.flatMap((curve) =>
      loads.map((load) => {
        const cell = {
          target: 'unequal_backends',
          family: 'unequal backends',
          curve,
          slots: 2,
          slower: SLOWER,
          arrivals: { kind: 'poisson' as const, load },
        };
        return { ...cell, items: itemsFor(cell, length), seeds: seedsFrom(firstSeed, seeds) };
      }),
    );
  },

  async play(cell) {
    const outcomes = await contest(cell, [VARIANTS.adaptive, peer('greedy')], afterLearning);
    const { meanMs } = outcomeOf(outcomes, VARIANTS.adaptive);
    return {
      cell,
      measures: {
        mean_to_split: meanMs / (await bestSplitMs(cell)),
        mean_to_greedy: meanMs / outcomeOf(outcomes, peer('greedy')).meanMs,
      },
      bestPeer: 'greedy',
    };
  },
};

/** Mean latency if each backend has a batcher of its own and a fixed share of the arrivals. */
async function bestSplitMs(cell: Cell): Promise<number> {
  const fast = curveOf(cell);
  const slow = slowedBy(fast, cell.slower ?? 1);
  let bestMs = Number.POSITIVE_INFINITY;
  for (const share of SHARES) {
    const fastMs = await meanMs(cell, fast, share);
    const slowMs = share === 1 ? 0 : await meanMs(cell, slow, 1 - share);
    bestMs = Math.min(bestMs, share * fastMs + (1 - share) * slowMs);
  }
  return bestMs;
}

async function meanMs(cell: Cell, curve: Curve, share: number): Promise<number> {
  const perMs = share * ratePerMs(cell);
  if (perMs > MAX_LOAD * capacity(curve).perMs) return Number.POSITIVE_INFINITY;
  const items = Math.max(MIN_ITEMS, Math.round(share * cell.items));
  let sum = 0;
  for (const seed of cell.seeds) {
    const { backends: _, ...scenario } = scenarioOf(cell, seed);
    const run = await simulate(
      { ...scenario, curve, slots: 1, items, arrivals: poisson(perMs) },
      VARIANTS.adaptive,
    );
    sum += measure(run, afterLearning([run])).meanMs;
  }
  return sum / cell.seeds.length;
}
