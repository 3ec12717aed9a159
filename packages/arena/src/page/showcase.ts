/**
 * The simulations behind the arena's page: a few backends, swept over load, and short runs to look at.
 * Chosen to be seen, not to judge by: that is the grid's part. Deterministic, and plain data as a result, so
 * that cells can be made in different threads.
 */

import { gridCurve } from '../grid/grid-curves.js';
import { type Timeline, timelineOf } from '../plot/timeline.js';
import { fanOut, type OpenArrivals, poisson } from '../simulation/arrivals.js';
import { type Curve, capacity } from '../simulation/curve.js';
import { itemAfterBatches, measure } from '../simulation/measures.js';
import type { Contender, Scenario } from '../simulation/scenario.js';
import { simulate } from '../simulation/simulate.js';

/** A contender under the name that the page gives it. */
export interface NamedContender {
  readonly name: string;
  readonly contender: Contender;
}

export interface ShowcaseOptions {
  /** The first is ours; the order is that of colours. */
  readonly contenders: readonly NamedContender[];
  /** Whose runs are drawn over time. @default the second and the first: theirs, then ours */
  readonly timelines?: readonly string[];
  /** Which backends, with what is said of each. @default SHOWCASE_CURVES */
  readonly curves?: readonly ShowcaseCurve[];
  /** @default [1, 2] */
  readonly slots?: readonly number[];
  /** The least mean latency possible, where it is known. */
  readonly meanBound?: (curve: Curve, slots: number, perMs: number) => number | undefined;
  /** How many items come in each run, as a multiple of what is needed for a figure to settle. @default 1 */
  readonly effort?: number;
  /** @default 1 */
  readonly seed?: number;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface ShowcaseCurve {
  readonly curve: Curve;
  /** A few words for a tab. */
  readonly title: string;
  /** A sentence on what kind of backend it is. */
  readonly about: string;
}

export const SHOWCASE_CURVES: readonly ShowcaseCurve[] = [
  {
    curve: gridCurve('a'),
    title: 'Straight',
    about: 'A batch takes 5 ms and 0.1 ms for each item: the usual picture of a backend.',
  },
  {
    curve: gridCurve('d'),
    title: 'Padded',
    about: 'Batches are padded to the next power of two, so that 33 items take as long as 64.',
  },
  {
    curve: gridCurve('resnet50'),
    title: 'ResNet-50, H200',
    about: 'Measured on a GPU: up to 64 items or so cost the same as one, from then on each costs its share.',
  },
];

/** Shares of what the backend can do with all its slots. */
export const LOADS: readonly number[] = [
  0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.1, 1.2, 1.3,
];

/** Against load: a line of a plot. */
export interface Sweep {
  readonly name: string;
  readonly points: readonly (readonly [load: number, value: number])[];
}

/** One backend with so many slots. */
export interface ShowcaseCell {
  readonly curve: string;
  readonly title: string;
  readonly about: string;
  readonly slots: number;
  readonly maxBatchSize: number;
  /** How long batches take, by size. */
  readonly service: readonly (readonly [size: number, ms: number])[];
  /** Items a second at load 1. */
  readonly capacityPerSecond: number;
  readonly targetMs: number;
  /** Without a target. */
  readonly meanMs: readonly Sweep[];
  readonly p99Ms: readonly Sweep[];
  readonly meanBoundMs: Sweep | undefined;
  /** With the target: the share of all items answered within it. */
  readonly goodput: readonly Sweep[];
  readonly stretches: readonly Stretch[];
}

/** The same callers, served by several contenders. */
export interface Stretch {
  readonly title: string;
  readonly about: string;
  readonly runs: readonly { readonly name: string; readonly meanMs: number; readonly timeline: Timeline }[];
}

export interface Showcase {
  readonly contenders: readonly string[];
  readonly cells: readonly ShowcaseCell[];
}

export async function showcase(options: ShowcaseOptions): Promise<Showcase> {
  const { contenders, curves = SHOWCASE_CURVES, slots = [1, 2], onProgress } = options;
  const total = curves.length * slots.length * runsPerCell(options);
  let done = 0;
  const advance = () => onProgress?.(++done, total);
  const cells: ShowcaseCell[] = [];
  for (const curve of curves) {
    for (const count of slots) cells.push(await new Cell(curve, count, options, advance).run());
  }
  return { contenders: contenders.map(({ name }) => name), cells };
}

function runsPerCell(options: ShowcaseOptions): number {
  const sweeps = LATENCY_LOADS.length + LOADS.length;
  return sweeps * options.contenders.length + STRETCHES.length * timelineNames(options).length;
}

function timelineNames({ timelines, contenders }: ShowcaseOptions): readonly string[] {
  return (
    timelines ??
    contenders
      .slice(0, 2)
      .map(({ name }) => name)
      .reverse()
  );
}

/** At every size, or at some when there are many. */
function serviceOf(curve: Curve): (readonly [number, number])[] {
  const { maxBatchSize } = curve;
  const step = Math.ceil(maxBatchSize / 64);
  const sizes = Array.from({ length: maxBatchSize }, (_, i) => i + 1);
  return sizes
    .filter((size) => size === 1 || size === maxBatchSize || size % step === 0)
    .map((size) => [size, curve.durationMs(size)]);
}

/** Without a target there is no latency at full load or above: it grows for as long as one looks. */
const LATENCY_LOADS = LOADS.filter((load) => load < 1);

const STRETCHES: readonly {
  readonly title: string;
  readonly about: string;
  readonly load: number;
  readonly arrivals: (perMs: number) => OpenArrivals;
}[] = [
  {
    title: 'Callers who know nothing of each other',
    about: 'Poisson arrivals at 60 % load.',
    load: 0.6,
    arrivals: poisson,
  },
  {
    title: 'Callers who come together',
    about: 'Each request fans out into 16 calls within half a millisecond, at 40 % load.',
    load: 0.4,
    arrivals: (perMs) => fanOut(perMs),
  },
];

/** How many batches each stretch shows, about, and how many run before: by then a policy has learned. */
const SHOWN_BATCHES = 14;
const EARLIER_BATCHES = 300;

class Cell {
  readonly #described: ShowcaseCurve;
  readonly #curve: Curve;
  readonly #slots: number;
  readonly #options: ShowcaseOptions;
  readonly #advance: () => void;
  /** What all slots together can do. */
  readonly #perMs: number;
  readonly #targetMs: number;

  constructor(described: ShowcaseCurve, slots: number, options: ShowcaseOptions, advance: () => void) {
    this.#described = described;
    this.#curve = described.curve;
    this.#slots = slots;
    this.#options = options;
    this.#advance = advance;
    this.#perMs = slots * capacity(this.#curve).perMs;
    this.#targetMs = 2 * this.#curve.durationMs(this.#curve.maxBatchSize);
  }

  async run(): Promise<ShowcaseCell> {
    const { title, about } = this.#described;
    const { name, maxBatchSize } = this.#curve;
    const mean: Sweep[] = [];
    const p99: Sweep[] = [];
    const goodput: Sweep[] = [];
    for (const { name, contender } of this.#options.contenders) {
      const latency = await this.#sweep(contender, LATENCY_LOADS, Number.POSITIVE_INFINITY);
      mean.push({ name, points: latency.map(({ load, meanMs }) => [load, meanMs]) });
      p99.push({ name, points: latency.map(({ load, p99Ms }) => [load, p99Ms]) });
      const onTime = await this.#sweep(contender, LOADS, this.#targetMs);
      goodput.push({ name, points: onTime.map((measures) => [measures.load, measures.goodput]) });
    }
    const stretches: Stretch[] = [];
    for (const stretch of STRETCHES) stretches.push(await this.#stretch(stretch));
    return {
      curve: name,
      title,
      about,
      slots: this.#slots,
      maxBatchSize,
      service: serviceOf(this.#curve),
      capacityPerSecond: 1000 * this.#perMs,
      targetMs: this.#targetMs,
      meanMs: mean,
      p99Ms: p99,
      meanBoundMs: this.#bound(),
      goodput,
      stretches,
    };
  }

  async #sweep(contender: Contender, loads: readonly number[], targetMs: number) {
    const measured: { load: number; meanMs: number; p99Ms: number; goodput: number }[] = [];
    for (const load of loads) {
      const { effort = 1 } = this.#options;
      const items = Math.ceil(effort * Math.max(8_000, 60 * this.#curve.maxBatchSize * this.#slots));
      const run = await simulate(this.#scenario(poisson(load * this.#perMs), items, targetMs), contender);
      // The first tenth is cold: an empty queue, and nothing learned.
      measured.push({ load, ...measure(run, Math.floor(items / 10)) });
      this.#advance();
    }
    return measured;
  }

  #bound(): Sweep | undefined {
    const points: (readonly [number, number])[] = [];
    for (const load of LATENCY_LOADS) {
      const meanMs = this.#options.meanBound?.(this.#curve, this.#slots, load * this.#perMs);
      if (meanMs !== undefined) points.push([load, meanMs]);
    }
    return points.length === 0 ? undefined : { name: 'optimum', points };
  }

  async #stretch({ title, about, load, arrivals }: (typeof STRETCHES)[number]): Promise<Stretch> {
    const runs: Stretch['runs'][number][] = [];
    const items = Math.ceil(2 * EARLIER_BATCHES * this.#curve.maxBatchSize * load);
    const scenario = this.#scenario(arrivals(load * this.#perMs), items, Number.POSITIVE_INFINITY);
    let span: readonly [number, number] | undefined;
    for (const wanted of timelineNames(this.#options)) {
      const named = this.#options.contenders.find(({ name }) => name === wanted);
      if (named === undefined) throw new RangeError(`There is no contender ${wanted} in the showcase.`);
      const run = await simulate(scenario, named.contender);
      // The same stretch of time for all, so that the same callers are seen.
      if (span === undefined) {
        const first = itemAfterBatches(run, Math.min(EARLIER_BATCHES, Math.floor(run.batches.length / 2)));
        const fromMs = Math.floor(run.arrivedAt[first] ?? 0);
        const busyMs = run.batches.reduce((sum, { durationMs }) => sum + durationMs, 0);
        const shownMs = (SHOWN_BATCHES * busyMs) / run.batches.length;
        span = [fromMs, fromMs + Math.ceil(shownMs)];
      }
      const timeline = timelineOf(run, ...span);
      runs.push({ name: wanted, meanMs: measure(run).meanMs, timeline });
      this.#advance();
    }
    return { title, about, runs };
  }

  #scenario(arrivals: OpenArrivals, items: number, targetMs: number): Scenario {
    return {
      name: 'showcase',
      curve: this.#curve,
      slots: this.#slots,
      arrivals,
      items,
      targetMs,
      noise: 0,
      timerMs: 1,
      seed: this.#options.seed ?? 1,
    };
  }
}
