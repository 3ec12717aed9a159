/** Target 3: mean latency and p99 against the best peer per cell, for all kinds of traffic. */
import { type Cell, type CellArrivals, itemsFor, type OpenKind } from '../grid/grid-cell.js';
import { GRID_CURVES, HOLD_OUT_CURVES } from '../grid/grid-curves.js';
import { PEERS } from '../peers/peers.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import { type Averages, afterLearning, contest, outcomeOf } from './contest.js';
import { atMost, type Extent, seedsFrom, type Target } from './target.js';

/** `triton-0` is the same as `greedy`. */
const DISTINCT_PEERS = PEERS.filter(({ name }) => name !== 'triton-0');

const OPEN: readonly CellArrivals[] = [
  ...open('poisson', [0.05, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95]),
  ...open('mmpp', [0.3, 0.6]),
  ...open('on-off', [0.3, 0.7]),
  ...open('fan-out', [0.2, 0.5, 0.8]),
  ...open('lognormal', [0.3, 0.7]),
  ...open('trace', [0.2, 0.5]),
];

const NOISES = [0, 0.05, 0, 0.15];

const EXTENTS = {
  full: {
    curves: GRID_CURVES.map(({ name }) => name),
    holdOut: HOLD_OUT_CURVES.map(({ name }) => name),
    slots: [1, 2, 4],
    open: OPEN,
    closed: [
      { users: 8, think: 0.05 },
      { users: 32, think: 0.05 },
      { users: 32, think: 1 },
      { users: 64, think: 4 },
    ],
    seeds: 2,
    length: { batches: 800, least: 12_000, most: 120_000 },
  },
  quick: {
    curves: ['a', 'd', 'bert_base_seq128', 'vit_l16'],
    holdOut: ['knee', 'fives', 'worse past 24'],
    slots: [1, 2, 4],
    open: [
      ...open('poisson', [0.3, 0.85]),
      ...open('fan-out', [0.5]),
      ...open('on-off', [0.3]),
      ...open('trace', [0.5]),
    ],
    closed: [{ users: 32, think: 0.05 }],
    seeds: 1,
    length: { batches: 500, least: 8_000, most: 50_000 },
  },
};

export const bestPeer: Target = {
  number: 3,
  name: 'best_peer',
  what: 'any traffic, 1 to 4 slots, no target',
  goals: [
    {
      id: 'best_peer_mean',
      what: 'mean ÷ best peer',
      measure: 'mean_to_best_peer',
      ...atMost(1.01),
      where: (cell) => !isHoldOut(cell),
    },
    {
      id: 'best_peer_mean_hold_out',
      what: 'the same on curves never tuned on',
      measure: 'mean_to_best_peer',
      ...atMost(1.03),
      where: isHoldOut,
    },
    { id: 'best_peer_p99', what: "p99 ÷ that peer's", measure: 'p99_to_best_peer', ...atMost(1.05) },
  ],
  family: { what: 'mean', toBestPeer: 'mean_to_best_peer', better: 'lower' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { curves, holdOut, slots, open, closed, seeds, length } = EXTENTS[extent];
    const cells: Cell[] = [];
    [...curves, ...holdOut].forEach((curve, c) => {
      slots.forEach((count, s) => {
        const loops = closed.map(
          ({ users, think }) =>
            ({ kind: 'closed', users: users * count, think, thinking: 'exponential' }) as const,
        );
        [...open, ...loops].forEach((arrivals, i) => {
          // Timers and noise alternate, so that each kind of traffic has all of them on some backend.
          const timerMs = (c + s + i) % 2;
          const noise = NOISES[(c + i) % NOISES.length] as number;
          const family = `${arrivals.kind}${holdOut.includes(curve) ? ', unseen curves' : ''}`;
          const cell = { target: 'best_peer', family, curve, slots: count, arrivals, timerMs, noise };
          cells.push({ ...cell, items: itemsFor(cell, length), seeds: seedsFrom(firstSeed, seeds) });
        });
      });
    });
    return cells;
  },

  async play(cell) {
    const outcomes = await contest(cell, [VARIANTS.adaptive, ...DISTINCT_PEERS], afterLearning);
    const ours = outcomeOf(outcomes, VARIANTS.adaptive);
    let best = { name: '', outcome: { meanMs: Number.POSITIVE_INFINITY } as Averages };
    for (const { name } of DISTINCT_PEERS) {
      const outcome = outcomeOf(outcomes, { name });
      if (outcome.meanMs < best.outcome.meanMs) best = { name, outcome };
    }
    return {
      cell,
      measures: {
        mean_to_best_peer: ours.meanMs / best.outcome.meanMs,
        p99_to_best_peer: ours.p99Ms / best.outcome.p99Ms,
        mean_to_greedy: ours.meanMs / outcomeOf(outcomes, { name: 'greedy' }).meanMs,
      },
      bestPeer: best.name,
    };
  },
};

function open(kind: OpenKind, loads: readonly number[]): CellArrivals[] {
  return loads.map((load) => ({ kind, load }));
}

function isHoldOut({ curve }: Cell): boolean {
  return HOLD_OUT_CURVES.some(({ name }) => name === curve);
}
