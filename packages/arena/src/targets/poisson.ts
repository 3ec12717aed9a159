/** Targets 1 and 2: mean latency against the optimum of all policies, with Poisson arrivals and one or two slots. */
import { poissonOptimum, poissonOptimumContender } from '../bounds/poisson-optimum.js';
import { storedTwoSlots, twoSlotBound } from '../bounds/stored-two-slots.js';
import { type Cell, curveOf, itemsFor, ratePerMs } from '../grid/grid-cell.js';
import { GRID_CURVES } from '../grid/grid-curves.js';
import { peer } from '../peers/peers.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import type { Contender } from '../simulation/scenario.js';
import { afterLearning, contest, outcomeOf } from './contest.js';
import { atMost, type CellResult, type Extent, seedsFrom, type Target } from './target.js';

const ONE_SLOT_EXTENTS = {
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
    { id: 'one_slot_mean', what: 'mean ÷ optimum', measure: 'mean_to_optimum', ...atMost(1.01) },
    { id: 'one_slot_p99', what: 'p99 ÷ greedy', measure: 'p99_to_greedy', ...atMost(1.02) },
  ],
  family: { what: 'mean', toBound: 'mean_to_optimum', toBestPeer: 'mean_to_greedy', better: 'lower' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { curves, loads, seeds, length } = ONE_SLOT_EXTENTS[extent];
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

  play: (cell) => playAgainst(poissonOptimumContender(poissonOptimum(curveOf(cell), ratePerMs(cell))), cell),
};

const TWO_SLOT_EXTENTS = {
  full: { seeds: 3, length: { batches: 1500, least: 40_000, most: 300_000 } },
  quick: { seeds: 1, length: { batches: 800, least: 20_000, most: 100_000 } },
};
const QUICK_CURVES = ['a', 'c', 'd', 'resnet50'];
const QUICK_LOADS = [0.3, 0.7, 0.95];

export const twoSlots: Target = {
  number: 2,
  name: 'two_slots',
  what: 'two slots, Poisson, no target',
  goals: [{ id: 'two_slots_mean', what: 'mean ÷ optimum', measure: 'mean_to_optimum', ...atMost(1.04) }],
  family: { what: 'mean', toBound: 'mean_to_optimum', toBestPeer: 'mean_to_greedy', better: 'lower' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { seeds, length } = TWO_SLOT_EXTENTS[extent];
    return storedTwoSlots()
      .filter(
        ({ curve, rho }) => extent === 'full' || (QUICK_CURVES.includes(curve) && QUICK_LOADS.includes(rho)),
      )
      .map(({ curve, rho }) => {
        const family = 'Poisson, 2 slots';
        const cell = {
          target: 'two_slots',
          family,
          curve,
          slots: 2,
          arrivals: { kind: 'poisson' as const, load: rho },
        };
        return { ...cell, items: itemsFor(cell, length), seeds: seedsFrom(firstSeed, seeds) };
      });
  },

  play(cell) {
    const load = cell.arrivals.kind === 'closed' ? Number.NaN : cell.arrivals.load;
    const optimum = twoSlotBound(curveOf(cell), load)?.contender;
    if (optimum === undefined) throw new RangeError(`No optimum is stored for ${cell.curve} at ${load}.`);
    return playAgainst(optimum, cell);
  },
};

async function playAgainst(optimum: Contender, cell: Cell): Promise<CellResult> {
  const outcomes = await contest(cell, [VARIANTS.adaptive, optimum, peer('greedy')], afterLearning);
  const ours = outcomeOf(outcomes, VARIANTS.adaptive);
  const greedy = outcomeOf(outcomes, peer('greedy'));
  return {
    cell,
    measures: {
      mean_to_optimum: ours.meanMs / outcomeOf(outcomes, optimum).meanMs,
      mean_to_greedy: ours.meanMs / greedy.meanMs,
      p99_to_greedy: ours.p99Ms / greedy.p99Ms,
    },
    bestPeer: 'greedy',
  };
}
