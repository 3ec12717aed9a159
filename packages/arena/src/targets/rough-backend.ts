/** Target 7: mean latency against greedy dispatch with a noisy backend, and with one that becomes twice as slow. */
import { type Cell, itemsFor } from '../grid/grid-cell.js';
import { GRID_CURVES } from '../grid/grid-curves.js';
import { peer } from '../peers/peers.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import type { Run } from '../simulation/simulate.js';
import { afterLearning, contest, LEARNED_BATCHES, outcomeOf } from './contest.js';
import { atMost, type Extent, seedsFrom, type Target } from './target.js';

const EXTENTS = {
  full: {
    curves: GRID_CURVES.map(({ name }) => name),
    loads: [0.3, 0.7, 0.9],
    seeds: 3,
    length: { batches: 1200, least: 20_000, most: 250_000 },
  },
  quick: {
    curves: ['a', 'c', 'd', 'resnet50'],
    loads: [0.3, 0.9],
    seeds: 3,
    length: { batches: 800, least: 16_000, most: 120_000 },
  },
};

export const roughBackend: Target = {
  number: 7,
  name: 'rough_backend',
  what: '30 % noise, or twice as slow from the middle of the run on; 1 and 2 slots',
  goals: [
    {
      id: 'noisy_mean',
      what: 'mean ÷ greedy, 30 % noise',
      measure: 'mean_to_greedy',
      ...atMost(1.03),
      where: ({ slowdown }) => slowdown === undefined,
    },
    {
      id: 'slowed_mean',
      what: 'mean ÷ greedy, twice as slow',
      measure: 'mean_to_greedy',
      ...atMost(1.03),
      where: ({ slowdown }) => slowdown !== undefined,
    },
  ],
  family: { what: 'mean', toBestPeer: 'mean_to_greedy', better: 'lower' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { curves, loads, seeds, length } = EXTENTS[extent];
    return curves.flatMap((curve) =>
      [1, 2].flatMap((slots) =>
        loads.flatMap((load) => {
          const base = {
            target: 'rough_backend',
            curve,
            slots,
            arrivals: { kind: 'poisson' as const, load },
          };
          return [
            { ...base, family: '30 % noise', noise: 0.3 },
            { ...base, family: 'twice as slow', slowdown: 2 },
          ].map((cell) => ({
            ...cell,
            items: itemsFor(cell, length),
            seeds: seedsFrom(firstSeed, seeds),
          }));
        }),
      ),
    );
  },

  async play(cell) {
    const start = cell.slowdown === undefined ? afterLearning : afterSlowdown;
    const outcomes = await contest(cell, [VARIANTS.adaptive, peer('greedy')], start);
    const ours = outcomeOf(outcomes, VARIANTS.adaptive);
    const greedy = outcomeOf(outcomes, peer('greedy'));
    return {
      cell,
      measures: { mean_to_greedy: ours.meanMs / greedy.meanMs, p99_to_greedy: ours.p99Ms / greedy.p99Ms },
      bestPeer: 'greedy',
    };
  },
};

/** After the batches that all contenders need to learn the change; at least a quarter of the run is measured. */
export function afterSlowdown(runs: readonly Run[]): number {
  return Math.max(
    ...runs.map(({ batches, scenario, latencyMs }) => {
      const atMs = scenario.slowdown?.atMs ?? 0;
      const first = batches.findIndex(({ startedAt }) => startedAt >= atMs);
      const counted = batches[first + LEARNED_BATCHES]?.itemsBefore ?? latencyMs.length;
      return Math.min(counted, Math.floor(0.75 * latencyMs.length));
    }),
  );
}
