/** Target 2: with two slots and Poisson arrivals, as quick as the best policy there can be. */
import { storedTwoSlots, twoSlotBound } from '../bounds/stored-two-slots.js';
import { type Cell, curveOf } from '../grid/grid-cell.js';
import { itemsFor } from '../grid/grid-size.js';
import { peer } from '../peers/peers.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import { afterLearning, contest, outcomeOf } from './contest.js';
import { type Extent, seedsFrom, type Target } from './target.js';

const EXTENTS = {
  full: { seeds: 3, length: { batches: 1500, least: 40_000, most: 300_000 } },
  quick: { seeds: 1, length: { batches: 800, least: 20_000, most: 100_000 } },
};
const QUICK_CURVES = ['a', 'c', 'd', 'resnet50'];
const QUICK_LOADS = [0.3, 0.7, 0.95];

export const twoSlots: Target = {
  number: 2,
  name: 'two_slots',
  what: 'two slots, Poisson, no target',
  goals: [
    {
      id: 'two_slots_mean',
      what: 'mean ÷ optimum',
      measure: 'mean_to_optimum',
      over: 'worst',
      better: 'lower',
      goal: 1.04,
    },
  ],
  family: { what: 'mean', toBound: 'mean_to_optimum', toBestPeer: 'mean_to_greedy', better: 'lower' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { seeds, length } = EXTENTS[extent];
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

  async play(cell) {
    const load = cell.arrivals.kind === 'closed' ? Number.NaN : cell.arrivals.load;
    const optimum = twoSlotBound(curveOf(cell), load)?.contender;
    if (optimum === undefined) throw new RangeError(`No optimum is stored for ${cell.curve} at ${load}.`);
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
  },
};
