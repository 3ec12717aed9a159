/** The cells of the ablation: all kinds of traffic, backends and targets. Each runs with and without every rule. */
import {
  type Cell,
  type CellArrivals,
  type CellMix,
  curveOf,
  itemsFor,
  type OpenKind,
} from '../grid/grid-cell.js';
import { type Extent, seedsFrom } from '../targets/target.js';

interface Traffic {
  readonly kind: OpenKind;
  readonly load: number;
}

const EXTENTS = {
  full: {
    curves: ['a', 'b', 'c', 'd', 'eights', 'concave', 'digits_cpu', 'resnet50'],
    holdOut: ['knee', 'fives', 'worse past 24', 'two floors'],
    latency: [
      ...open('poisson', 0.3, 0.7, 0.9),
      ...open('mmpp', 0.6),
      ...open('on-off', 0.7),
      ...open('fan-out', 0.5),
      ...open('lognormal', 0.7),
    ],
    closed: [
      { users: 8, think: 0.05 },
      { users: 32, think: 0.05 },
      { users: 64, think: 1 },
    ],
    goodput: [
      ...open('poisson', 0.7, 0.95, 1.3),
      ...open('mmpp', 0.8),
      ...open('on-off', 0.7),
      ...open('fan-out', 0.8),
      ...open('lognormal', 0.7),
    ],
    mixes: ['groups', 'tenants', 'priorities'] as readonly CellMix[],
    mixCurves: ['a', 'd', 'worse past 24'],
    roughCurves: ['a', 'c', 'd', 'resnet50'],
    seeds: 2,
    length: { batches: 600, least: 8_000, most: 60_000 },
  },
  quick: {
    curves: ['a', 'd'],
    holdOut: ['worse past 24'],
    latency: [...open('poisson', 0.7, 0.9), ...open('fan-out', 0.5)],
    closed: [{ users: 32, think: 0.05 }],
    goodput: [...open('poisson', 0.95, 1.3), ...open('on-off', 0.7)],
    mixes: ['groups', 'tenants'] as readonly CellMix[],
    mixCurves: ['d'],
    roughCurves: ['a'],
    seeds: 1,
    length: { batches: 300, least: 5_000, most: 20_000 },
  },
};

/** Cells alternate between these values, so that each kind of traffic has all of them on some backend. */
const SLOTS = [1, 2, 4];
const NOISES = [0, 0.05, 0.15];
const TARGETS = [1.5, 2, 3];
const MIX_LOADS = [0.7, 1.2];
const ROUGH_LOAD = 0.7;

export function ablationCells(extent: Extent, firstSeed: number): readonly Cell[] {
  const { curves, holdOut, latency, closed, goodput, mixes, mixCurves, roughCurves, seeds, length } =
    EXTENTS[extent];
  type Draft = Omit<Cell, 'target' | 'items' | 'seeds'>;
  const drafts: Draft[] = [];
  [...curves, ...holdOut].forEach((curve, c) => {
    const turn = (i: number) => ({
      curve,
      slots: SLOTS[(c + i) % 3] as number,
      noise: NOISES[(c + Math.floor(i / 3)) % 3] as number,
      timerMs: (c + i) % 2,
    });
    latency.forEach((arrivals, i) => {
      drafts.push({ ...turn(i), family: arrivals.kind, arrivals });
    });
    closed.forEach(({ users, think }, i) => {
      const { slots, ...rest } = turn(i);
      const arrivals: CellArrivals = { kind: 'closed', users: users * slots, think, thinking: 'exponential' };
      drafts.push({ ...rest, slots, family: 'closed', arrivals });
    });
    goodput.forEach((arrivals, i) => {
      const targetFactor = TARGETS[(c + 2 * i) % 3] as number;
      drafts.push({ ...turn(i), family: arrivals.kind, arrivals, targetFactor });
    });
  });
  for (const curve of mixCurves) {
    for (const mix of mixes) {
      for (const load of MIX_LOADS) {
        const arrivals = { kind: 'poisson' as const, load };
        drafts.push({ curve, family: mix, slots: 1, arrivals, targetFactor: 3, mix });
      }
    }
  }
  for (const curve of roughCurves) {
    for (const target of [{}, { targetFactor: 2 }]) {
      const base = { curve, arrivals: { kind: 'poisson' as const, load: ROUGH_LOAD }, ...target };
      drafts.push({ ...base, family: 'noise 30 %', slots: 1, noise: 0.3 });
      drafts.push({ ...base, family: 'twice as slow', slots: 2, slowdown: 2 });
    }
  }
  return drafts.map((draft) => {
    const cell = { ...draft, target: 'ablation' };
    return { ...cell, items: itemsFor(cell, length), seeds: seedsFrom(firstSeed, seeds) };
  });
}

/** The families of a cell: its kind of traffic, and the shape of its curve. */
export function familiesOf(cell: Cell): readonly string[] {
  return [cell.family, shapeOf(cell)];
}

/** A curve is flat if the duration of a full batch is below this multiple of that of one item. */
const FLAT = 1.5;

function shapeOf(cell: Cell): string {
  const { maxBatchSize, durationMs } = curveOf(cell);
  let longestRun = 0;
  let run = 0;
  let quickest = 1;
  for (let size = 2; size <= maxBatchSize; size++) {
    const isEqual = durationMs(size) === durationMs(size - 1);
    run = isEqual ? run + 1 : 0;
    longestRun = Math.max(longestRun, run);
    if (size / durationMs(size) > quickest / durationMs(quickest)) quickest = size;
  }
  if (longestRun >= 2) return 'stepped curve';
  if (quickest < maxBatchSize) return 'best size below the maximum';
  return durationMs(maxBatchSize) < FLAT * durationMs(1) ? 'flat curve' : 'rising curve';
}

function open(kind: OpenKind, ...loads: readonly number[]): Traffic[] {
  return loads.map((load) => ({ kind, load }));
}
