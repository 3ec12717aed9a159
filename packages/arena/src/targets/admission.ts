/** Target 9: admitted items meet their target under overload, and so do items retried after Retry-After. */
import { type Cell, itemsFor, scenarioOf } from '../grid/grid-cell.js';
import { GRID_CURVES } from '../grid/grid-curves.js';
import { measure } from '../simulation/measures.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import { simulate } from '../simulation/simulate.js';
import { atLeast, type Extent, seedsFrom, type Target } from './target.js';

const EXTENTS = {
  full: {
    curves: GRID_CURVES.map(({ name }) => name),
    slots: [1, 2],
    seeds: 2,
    length: { batches: 800, least: 20_000, most: 100_000 },
  },
  quick: {
    curves: ['a', 'c', 'd', 'resnet50'],
    slots: [1, 2],
    seeds: 1,
    length: { batches: 500, least: 10_000, most: 50_000 },
  },
};
const OVERLOAD = 1.3;
const RETRY_SHARE = 0.1;

export const admission: Target = {
  number: 9,
  name: 'admission',
  what: 'admission at 1.3× load, 10 % of rejected items are retried',
  goals: [
    {
      id: 'admission_accepted',
      what: 'admitted items on time',
      measure: 'accepted_in_time',
      ...atLeast(0.97),
    },
    {
      id: 'admission_retried',
      what: 'retried after Retry-After and on time',
      measure: 'retried_in_time',
      ...atLeast(0.95),
    },
  ],
  family: { what: 'admitted on time', toBound: 'accepted_in_time', better: 'higher' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { curves, slots, seeds, length } = EXTENTS[extent];
    return curves.flatMap((curve) =>
      slots.flatMap((count) =>
        [1.5, 2, 3].map((targetFactor) => {
          const cell = {
            target: 'admission',
            family: `overload, ${count === 1 ? '1 slot' : `${count} slots`}`,
            curve,
            slots: count,
            arrivals: { kind: 'poisson' as const, load: OVERLOAD },
            targetFactor,
            obeysRetryAfter: RETRY_SHARE,
          };
          return { ...cell, items: itemsFor(cell, length), seeds: seedsFrom(firstSeed, seeds) };
        }),
      ),
    );
  },

  async play(cell) {
    let accepted = 0;
    let onTime = 0;
    let retried = 0;
    let retriedOnTime = 0;
    let items = 0;
    for (const seed of cell.seeds) {
      const run = await simulate(scenarioOf(cell, seed), VARIANTS.adaptive);
      accepted += run.latencyMs.length - (run.refused - run.refusedInQueue);
      onTime += Math.round(measure(run).goodput * run.latencyMs.length);
      retried += run.retried;
      retriedOnTime += run.retriedOnTime;
      items += run.latencyMs.length;
    }
    return {
      cell,
      measures: {
        accepted_in_time: onTime / accepted,
        retried_in_time: retriedOnTime / retried,
        accepted: accepted / items,
        goodput: onTime / items,
      },
    };
  },
};
