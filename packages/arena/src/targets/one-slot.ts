/** Target 1: with one slot and Poisson arrivals, as quick as the best policy there can be. */
import { poissonOptimum, poissonOptimumContender } from '../bounds/poisson-optimum.js';
import { type Cell, curveOf, ratePerMs } from '../grid/grid-cell.js';
import { GRID_CURVES } from '../grid/grid-curves.js';
import { itemsFor } from '../grid/grid-size.js';
import { peer } from '../peers/peers.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import { afterLearning, contest, outcomeOf } from './contest.js';
import { type Extent, seedsFrom, type Target } from './target.js';

const EXTENTS = {
  full: {
    curves: GRID_CURVES.map(({ name }) => name),
    loads: [0.05, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95],
    seeds: 3,
    length: { batches: 1000, least: 40_000, most: 200_000 },
  },
  quick: {
    curves: ['a', 'c', 'd', 'resnet50', 'vit_l16', 'digits_cpu'],
    loads: [0.1, 0.7, 0.95],
    seeds: 1,
    length: { batches: 600, least: 20_000, most: 80_000 },
  },
};

export const oneSlot: Target = {
  number: 1,
  name: 'one_slot',
  what: 'one slot, Poisson, no target',
  goals: [
    {
      id: 'one_slot_mean',
      what: 'mean ÷ optimum',
      measure: 'mean_to_optimum',
      over: 'worst',
      better: 'lower',
      goal: 1.01,
    },
    {
      id: 'one_slot_p99',
      what: 'p99 ÷ greedy',
      measure: 'p99_to_greedy',
      over: 'worst',
      better: 'lower',
      goal: 1.02,
    },
  ],
  family: { what: 'mean', toBound: 'mean_to_optimum', toBestPeer: 'mean_to_greedy', better: 'lower' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { curves, loads, seeds, length } = EXTENTS[extent];
    return curves.flatMap((curve) =>
      loads.map((load) => {
        const family = 'Poisson, 1 slot';
        const cell = {
          target: 'one_slot',
          family,
          curve,
          slots: 1,
          arrivals: { kind: 'poisson' as const, load },
        };
        return { ...cell, items: itemsFor(cell, length), seeds: seedsFrom(firstSeed, seeds) };
      }),
    );
  },

  async play(cell) {
    const optimum = poissonOptimumContender(poissonOptimum(curveOf(cell), ratePerMs(cell)));
    const outcomes = await contest(cell, [VARIANTS.adaptive, optimum, peer('greedy')], afterLearning);
    const ours = outcomeOf(outcomes, VARIANTS.adaptive);
    const greedy = outcomeOf(outcomes, peer('greedy'));
    return {
      cell,
      measures: {
        mean_to_optimum: ours.meanMs / outcomeOf(outcomes, optimum).meanMs,
        p99_to_greedy: ours.p99Ms / greedy.p99Ms,
        mean_to_greedy: ours.meanMs / greedy.meanMs,
      },
      bestPeer: 'greedy',
    };
  },
};
