/** Target 5: in efficiency mode, backend time is close to the minimum that serves all items on time. */
import { backendTimeBound } from '../bounds/backend-time-bound.js';
import { type Cell, curveOf, scenarioOf, targetLatencyMsOf } from '../grid/grid-cell.js';
import { GRID_CURVES } from '../grid/grid-curves.js';
import { peer } from '../peers/peers.js';
import { itemAfterBatches, measure } from '../simulation/measures.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import { type Run, simulate } from '../simulation/simulate.js';
import { LEARNED_BATCHES } from './contest.js';
import { atLeast, atMost, type Extent, type Goal, seedsFrom, type Target } from './target.js';

const EXTENTS = {
  full: {
    curves: GRID_CURVES.map(({ name }) => name),
    loads: [0.05, 0.1, 0.3, 0.5, 0.7],
    factors: [2, 3],
    noises: [0, 0.05],
    /** Measured batches, after learning. */
    batches: 200,
    most: 15_000,
  },
  quick: {
    curves: ['a', 'c', 'd', 'digits_cpu'],
    loads: [0.1, 0.5],
    factors: [2, 3],
    noises: [0, 0.05],
    batches: 150,
    most: 8_000,
  },
};

const isQuiet = ({ noise = 0 }: Cell) => noise === 0;
const isNoisy = (cell: Cell) => !isQuiet(cell);

export const efficiency: Target = {
  number: 5,
  name: 'efficiency',
  what: 'efficiency mode, one slot, where all items can be on time',
  goals: [
    ...pair('true', 'true curve', isQuiet, 1.02, 0.999),
    ...pair('learned', 'learned', isQuiet, 1.02, 0.999),
    ...pair('noisy_true', '5 % noise, true curve', isNoisy, 1.05, 0.995),
    ...pair('noisy_learned', '5 % noise, learned', isNoisy, 1.05, 0.995),
  ],
  family: { what: 'backend time', toBound: 'busy_learned', toBestPeer: 'busy_to_greedy', better: 'lower' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { curves, loads, factors, noises, batches, most } = EXTENTS[extent];
    return curves.flatMap((curve) =>
      loads.flatMap((load) =>
        factors.flatMap((targetFactor) =>
          noises.map((noise) => {
            const family = noise === 0 ? 'efficiency' : 'efficiency, 5 % noise';
            const arrivals = { kind: 'poisson' as const, load };
            const cell = { target: 'efficiency', family, curve, slots: 1, arrivals, targetFactor, noise };
            // A batch is about as large as the arrivals within the target.
            const { maxBatchSize } = curveOf(cell);
            const size = Math.min(maxBatchSize, 1 + load * targetFactor * maxBatchSize);
            const counted = Math.min(most, Math.max(4000, batches * size));
            const items = Math.ceil(1.1 * LEARNED_BATCHES * size + counted);
            return { ...cell, items, seeds: seedsFrom(firstSeed, 1) };
          }),
        ),
      ),
    );
  },

  async play(cell) {
    const scenario = scenarioOf(cell, cell.seeds[0] as number);
    const learned = await simulate(scenario, VARIANTS.efficiency);
    const withCurve = await simulate(scenario, VARIANTS.efficiencyTrueCurve);
    const greedy = await simulate(scenario, peer('greedy'));
    const from = Math.min(itemAfterBatches(learned, LEARNED_BATCHES), Math.floor(scenario.items / 2));
    const leastMs = backendTimeBound(
      learned.arrivedAt.subarray(from),
      curveOf(cell),
      targetLatencyMsOf(cell),
    );
    // Where not all items can be on time there is no minimum, and the cell has no figures.
    const toBound = (run: Run) =>
      leastMs === Number.POSITIVE_INFINITY ? Number.NaN : busyMsFrom(run, from) / leastMs;
    const onTime = (run: Run) =>
      leastMs === Number.POSITIVE_INFINITY ? Number.NaN : measure(run, from).goodput;
    return {
      cell,
      measures: {
        busy_learned: toBound(learned),
        in_time_learned: onTime(learned),
        busy_true: toBound(withCurve),
        in_time_true: onTime(withCurve),
        busy_to_greedy: busyMsFrom(learned, from) / busyMsFrom(greedy, from),
      },
      bestPeer: 'greedy',
    };
  },
};

/** Backend time from an item on; a batch with earlier items counts by its share of later items. */
export function busyMsFrom({ batches }: Run, from: number): number {
  let sum = 0;
  for (const { durationMs, first, size } of batches) {
    sum += (durationMs * Math.min(size, Math.max(0, first + size - from))) / size;
  }
  return sum;
}

function pair(
  id: string,
  what: string,
  where: (cell: Cell) => boolean,
  busy: number,
  onTime: number,
): Goal[] {
  const measure = id.replace('noisy_', '');
  return [
    {
      id: `efficiency_${id}_busy`,
      what: `busy ÷ bound, ${what}`,
      measure: `busy_${measure}`,
      ...atMost(busy),
      where,
    },
    {
      id: `efficiency_${id}_in_time`,
      what: `on time, ${what}`,
      measure: `in_time_${measure}`,
      ...atLeast(onTime),
      where,
    },
  ];
}
