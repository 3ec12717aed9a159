/** Target 6: callers who come back as soon as they are answered go together, all of them. */
import { type Cell, curveOf } from '../grid/grid-cell.js';
import { GRID_CURVES } from '../grid/grid-curves.js';
import { peer } from '../peers/peers.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import { afterLearning, contest, outcomeOf } from './contest.js';
import { type Extent, seedsFrom, type Target } from './target.js';

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
 * Pauses that are short against a batch. All alike, a fiftieth of it. Where they differ it is the longest
 * of them that everybody waits for, H(N) times the mean: for that to be about a fiftieth, too, the mean is
 * shorter. A mean of a fiftieth makes a longest of a tenth with 64 users, and 1.03 out of reach for anybody.
 */
const PAUSES = [
  { think: 0.02, thinking: 'constant', isGoal: true },
  { think: 0.005, thinking: 'exponential', isGoal: true },
  { think: 0.02, thinking: 'exponential', isGoal: false },
] as const;

export const closedLoop: Target = {
  number: 6,
  name: 'closed_loop',
  what: 'closed loop, pauses ≪ a batch, one slot',
  goals: [
    {
      id: 'closed_loop_mean',
      what: 'mean ÷ T(N)',
      measure: 'mean_to_whole',
      over: 'worst',
      better: 'lower',
      goal: 1.03,
      where: isShort,
    },
  ],
  asides: [
    {
      what: 'Z 0.02·T(N), exponential: mean ÷ (T(N) + the wait for the last)',
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
    if (arrivals.kind !== 'closed') throw new RangeError('A closed loop is needed.');
    const wholeMs = curveOf(cell).durationMs(arrivals.users);
    return {
      cell,
      measures: {
        mean_to_whole: ours / wholeMs,
        mean_to_reference: ours / (wholeMs * (1 + togetherness(arrivals))),
        mean_to_greedy: ours / outcomeOf(outcomes, peer('greedy')).meanMs,
      },
      bestPeer: 'greedy',
    };
  },
};

/** How long, as a share of a batch, users wait on average for the last of them. */
function togetherness({ users, think, thinking }: Extract<Cell['arrivals'], { kind: 'closed' }>): number {
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
