/** Target 6: with short think times in a closed loop, every batch contains all users. */
import { type Cell, curveOf } from '../grid/grid-cell.js';
import { GRID_CURVES } from '../grid/grid-curves.js';
import { peer } from '../peers/peers.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import { afterLearning, contest, outcomeOf } from './contest.js';
import { atMost, type Extent, seedsFrom, type Target } from './target.js';

const EXTENTS = {
  full: { curves: GRID_CURVES.map(({ name }) => name), users: [8, 32, 64], seeds: 2, rounds: 1000 },
  quick: {
    curves: ['a', 'b', 'c', 'd', 'resnet50', 'digits_cpu'],
    users: [8, 32, 64],
    seeds: 1,
    rounds: 500,
  },
};

/**
 * Think times that are short compared with a batch: constant, 1/50 of it. With exponential think times a batch of all
 * users waits for the longest one, H(N) times the mean: with a mean of 1/200 that is about 1/50 as well. With a mean of
 * 1/50 the longest of 64 is 1/10, and no policy can reach 1.03.
 */
const PAUSES = [
  { think: 0.02, thinking: 'constant', isGoal: true },
  { think: 0.005, thinking: 'exponential', isGoal: true },
  { think: 0.02, thinking: 'exponential', isGoal: false },
] as const;

export const closedLoop: Target = {
  number: 6,
  name: 'closed_loop',
  what: 'closed loop, think time ≪ a batch, one slot',
  goals: [
    {
      id: 'closed_loop_mean',
      what: 'mean ÷ T(N)',
      measure: 'mean_to_whole',
      ...atMost(1.03),
      where: isShort,
    },
  ],
  asides: [
    {
      what: 'Z 0.02·T(N), exponential: mean ÷ (T(N) + the wait for the last user)',
      measure: 'mean_to_reference',
      better: 'lower',
      where: (cell) => !isShort(cell),
    },
  ],
  family: { what: 'mean', toBound: 'mean_to_reference', toBestPeer: 'mean_to_greedy', better: 'lower' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { curves, users, seeds, rounds } = EXTENTS[extent];
    const cells: Cell[] = [];
    for (const curve of curves) {
      for (const count of users.filter((count) => count <= curveOf({ curve }).maxBatchSize)) {
        for (const { think, thinking } of PAUSES) {
          cells.push({
            target: 'closed_loop',
            family: `closed, Z ${think}·T(N) ${thinking}`,
            curve,
            slots: 1,
            arrivals: { kind: 'closed', users: count, think, thinking },
            items: count * rounds,
            seeds: seedsFrom(firstSeed, seeds),
          });
        }
      }
    }
    return cells;
  },

  async play(cell) {
    const outcomes = await contest(cell, [VARIANTS.adaptive, peer('greedy')], afterLearning);
    const ours = outcomeOf(outcomes, VARIANTS.adaptive).meanMs;
    const { arrivals } = cell;
    if (arrivals.kind !== 'closed') throw new RangeError('The cell is not a closed loop.');
    const wholeMs = curveOf(cell).durationMs(arrivals.users);
    return {
      cell,
      measures: {
        mean_to_whole: ours / wholeMs,
        mean_to_reference: ours / (wholeMs * (1 + waitForLast(arrivals))),
        mean_to_greedy: ours / outcomeOf(outcomes, peer('greedy')).meanMs,
      },
      bestPeer: 'greedy',
    };
  },
};

/** Mean wait of the users for the last one, as a share of a batch. */
function waitForLast({ users, think, thinking }: Extract<Cell['arrivals'], { kind: 'closed' }>): number {
  if (thinking === 'constant') return 0;
  let longest = 0;
  for (let i = 1; i <= users; i++) longest += 1 / i;
  return think * (longest - 1);
}

function isShort({ arrivals }: Cell): boolean {
  return PAUSES.some(
    ({ think, thinking, isGoal }) =>
      isGoal && arrivals.kind === 'closed' && arrivals.think === think && arrivals.thinking === thinking,
  );
}
