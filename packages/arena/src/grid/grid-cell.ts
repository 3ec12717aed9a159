/**
 * A cell of the grid: one kind of backend under one kind of traffic. Plain data that can be sent to another thread,
 * where it becomes a scenario.
 */
import {
  type Arrivals,
  type ClosedArrivals,
  closedLoop,
  fanOut,
  lognormalGaps,
  mmpp,
  onOff,
  poisson,
} from '../simulation/arrivals.js';
import { type Curve, capacity, slowedBy, steadyBatchSize } from '../simulation/curve.js';
import type { Random } from '../simulation/random.js';
import type { Scenario, SimulatedBackend, Traits } from '../simulation/scenario.js';
import { gridCurve } from './grid-curves.js';
import { gridTrace } from './grid-trace.js';

export type OpenKind = 'poisson' | 'mmpp' | 'on-off' | 'fan-out' | 'lognormal' | 'trace';

export type CellArrivals =
  | {
      readonly kind: OpenKind;
      /** Share of the maximum throughput of all slots; with a slowdown, of that after the slowdown. */
      readonly load: number;
    }
  | {
      readonly kind: 'closed';
      readonly users: number;
      /** Mean think time, as a multiple of the duration of a batch with all users. */
      readonly think: number;
      readonly thinking: ClosedArrivals['thinking'];
    };

/** The trait in which items differ. */
export type CellMix = 'groups' | '50 groups' | 'tenants' | 'priorities';

export interface Cell {
  /** The name of its target. */
  readonly target: string;
  /** The group of cells with which it is averaged in the report. */
  readonly family: string;
  readonly curve: string;
  readonly slots: number;
  readonly arrivals: CellArrivals;
  /** The target latency, as a multiple of the duration of a full batch, or of a batch of `targetSize`. @default none */
  readonly targetFactor?: number;
  readonly targetSize?: number;
  /** @default 0 */
  readonly noise?: number;
  /** @default 0, ideal timers */
  readonly timerMs?: number;
  /** Two backends with one slot each, the second slower by this factor. @default equal slots */
  readonly slower?: number;
  /** Factor by which batches are slower from the middle of the run on. */
  readonly slowdown?: number;
  readonly obeysRetryAfter?: number;
  /** @default none, all items are equal */
  readonly mix?: CellMix;
  readonly items: number;
  readonly seeds: readonly number[];
}

/** Length of the states of the traffic, in full batches. */
const MMPP_BATCHES = 20;
const ON_OFF_BATCHES = 10;

export function curveOf({ curve }: Pick<Cell, 'curve'>): Curve {
  return gridCurve(curve);
}

export function targetLatencyMsOf(cell: Cell): number {
  const curve = curveOf(cell);
  return (
    (cell.targetFactor ?? Number.POSITIVE_INFINITY) * curve.durationMs(cell.targetSize ?? curve.maxBatchSize)
  );
}

/** Items per millisecond; NaN for a closed loop. */
export function ratePerMs(cell: Cell): number {
  const { arrivals, slots, slower, slowdown = 1 } = cell;
  if (arrivals.kind === 'closed') return Number.NaN;
  const fastSlots = slower === undefined ? slots : 1 + 1 / slower;
  return (arrivals.load * fastSlots * capacity(curveOf(cell)).perMs) / slowdown;
}

const MANY_GROUPS = 50;
/** Of 1 + ½ + ⅓ and so on. */
const ZIPF_SUMS: number[] = [];
for (let rank = 1; rank <= MANY_GROUPS; rank++) ZIPF_SUMS.push((ZIPF_SUMS.at(-1) ?? 0) + 1 / rank);

/**
 * The first of 8 groups or tenants has half of the items, the second a quarter, and so on. Of 50 groups, the second has
 * half as many as the first, the third a third. 10 % have a priority.
 */
const TRAITS: Readonly<Record<CellMix, (random: Random) => Traits>> = {
  groups: (random) => ({ group: halving(random) }),
  '50 groups': (random) => ({ group: zipf(random) }),
  tenants: (random) => ({ tenant: `tenant ${halving(random)}` }),
  priorities: (random) => ({ priority: random() < 0.1 ? 5 : 0 }),
};

function oneSlot(curve: Curve): SimulatedBackend {
  return { curve, slots: 1 };
}

function halving(random: Random): number {
  return Math.min(7, Math.floor(-Math.log2(1 - random())));
}

function zipf(random: Random): number {
  const drawn = random() * (ZIPF_SUMS.at(-1) as number);
  return ZIPF_SUMS.findIndex((sum) => drawn < sum);
}

export function scenarioOf(cell: Cell, seed: number): Scenario {
  const { slots, slower, items, noise = 0, timerMs = 0, slowdown, obeysRetryAfter, mix } = cell;
  const curve = curveOf(cell);
  return {
    name: cellName(cell),
    curve,
    slots,
    ...(slower === undefined ? {} : { backends: [curve, slowedBy(curve, slower)].map(oneSlot) }),
    arrivals: arrivalsOf(cell),
    items,
    targetLatencyMs: targetLatencyMsOf(cell),
    noise,
    timerMs,
    seed,
    ...(slowdown === undefined ? {} : { slowdown: { atMs: items / 2 / ratePerMs(cell), factor: slowdown } }),
    ...(obeysRetryAfter === undefined ? {} : { obeysRetryAfter }),
    ...(mix === undefined ? {} : { traits: TRAITS[mix] }),
  };
}

/** Unique among the cells of a target. */
export function cellName(cell: Cell): string {
  const {
    curve,
    slots,
    slower,
    arrivals,
    targetFactor,
    targetSize = 'B',
    noise = 0,
    timerMs = 0,
    slowdown,
    mix,
  } = cell;
  const traffic =
    arrivals.kind === 'closed'
      ? `closed N ${arrivals.users} Z ${arrivals.think}·T(N) ${arrivals.thinking}`
      : `${arrivals.kind} ρ ${arrivals.load}`;
  return [
    `${curve} k ${slots} ${traffic}`,
    ...(slower === undefined ? [] : [`one backend ${slower}× slower`]),
    ...(targetFactor === undefined ? [] : [`target ${targetFactor}·T(${targetSize})`]),
    ...(noise === 0 ? [] : [`noise ${Math.round(100 * noise)} %`]),
    ...(timerMs === 0 ? [] : [`timer ${timerMs} ms`]),
    ...(slowdown === undefined ? [] : [`${slowdown}× as slow`]),
    ...(mix === undefined ? [] : [mix]),
  ].join(', ');
}

function arrivalsOf(cell: Cell): Arrivals {
  const { arrivals } = cell;
  const curve = curveOf(cell);
  const fullMs = curve.durationMs(curve.maxBatchSize);
  const perMs = ratePerMs(cell);
  switch (arrivals.kind) {
    case 'closed': {
      const { users, think, thinking } = arrivals;
      const thinkMs = think * curve.durationMs(Math.min(users, curve.maxBatchSize));
      return closedLoop(users, thinkMs, thinking);
    }
    case 'poisson':
      return poisson(perMs);
    case 'mmpp':
      return mmpp(perMs, MMPP_BATCHES * fullMs);
    case 'on-off':
      return onOff(perMs, ON_OFF_BATCHES * fullMs);
    case 'fan-out':
      return fanOut(perMs);
    case 'lognormal':
      return lognormalGaps(perMs);
    case 'trace':
      return gridTrace(perMs);
  }
}

interface RunLength {
  /** Batches of the run, about. */
  readonly batches: number;
  readonly least: number;
  readonly most: number;
}

export function itemsFor(cell: Omit<Cell, 'items' | 'seeds'>, { batches, least, most }: RunLength): number {
  return Math.round(Math.min(Math.max(batches * typicalBatch(cell), least), most));
}

/** The batch size with which the slots keep up with the arrivals. */
export function typicalBatch(cell: Omit<Cell, 'items' | 'seeds'>): number {
  const curve = curveOf(cell);
  const { arrivals, slots, slowdown = 1 } = cell;
  if (arrivals.kind === 'closed') return Math.min(arrivals.users / slots, curve.maxBatchSize);
  const perMs = ratePerMs({ ...cell, items: 0, seeds: [] }) * slowdown;
  return steadyBatchSize(curve, slots, perMs, capacity(curve).size);
}
