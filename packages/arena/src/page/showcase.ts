/**
 * The simulations for the plots of the arena's page: a few backends, swept over load, and parts of runs over time. They
 * illustrate the policies; the grid measures them. Deterministic, with plain data as a result, so that cells can be
 * computed in different threads.
 */

import { gridCurve } from '../grid/grid-curves.js';
import { type Timeline, timelineOf } from '../plot/timeline.js';
import { fanOut, type OpenArrivals, poisson } from '../simulation/arrivals.js';
import { type Curve, capacity } from '../simulation/curve.js';
import { itemAfterBatches, measure } from '../simulation/measures.js';
import type { Contender, Scenario } from '../simulation/scenario.js';
import { simulate } from '../simulation/simulate.js';

/** A contender with its name on the page. */
export interface NamedContender {
  readonly name: string;
  readonly contender: Contender;
}

export interface ShowcaseOptions {
  /** The first one is emphasized; the order determines the colours. */
  readonly contenders: readonly NamedContender[];
  /** Contenders whose runs are drawn over time. @default the second and the first */
  readonly timelines?: readonly string[];
  /** @default SHOWCASE_CURVES */
  readonly curves?: readonly ShowcaseCurve[];
  /** @default [1, 2] */
  readonly slots?: readonly number[];
  /** The minimum mean latency, where it is known. */
  readonly meanBound?: (curve: Curve, slots: number, perMs: number) => number | undefined;
  /** Factor of the number of items per run. @default 1 */
  readonly effort?: number;
  /** @default 1 */
  readonly seed?: number;
  readonly onProgress?: (done: number, total: number) => void;
}

export interface ShowcaseCurve {
  readonly curve: Curve;
  /** For a tab. */
  readonly title: string;
  /** A sentence that describes the backend. */
  readonly about: string;
}

export const SHOWCASE_CURVES: readonly ShowcaseCurve[] = [
  {
    curve: gridCurve('a'),
    title: 'Linear',
    about: 'A batch takes 5 ms, plus 0.1 ms per item: the usual model of a backend.',
  },
  {
    curve: gridCurve('d'),
    title: 'Padded',
    about: 'Batches are padded to the next power of two, so that 33 items take as long as 64.',
  },
  {
    curve: gridCurve('resnet50'),
    title: 'ResNet-50, H200',
    about: 'Measured on a GPU: the duration is constant up to about 64 items, and linear above.',
  },
];

/** Loads, as shares of the maximum throughput of all slots. */
export const LOADS: readonly number[] = [
  0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1, 1.1, 1.2, 1.3,
];

/** One line of a chart: a figure against load. */
export interface Sweep {
  readonly name: string;
  readonly points: readonly (readonly [load: number, value: number])[];
}

/** One backend with a number of slots. */
export interface ShowcaseCell {
  readonly curve: string;
  readonly title: string;
  readonly about: string;
  readonly slots: number;
  readonly maxBatchSize: number;
  /** Durations by batch size. */
  readonly service: readonly (readonly [size: number, ms: number])[];
  /** Items per second at load 1. */
  readonly capacityPerSecond: number;
  readonly targetLatencyMs: number;
  /** Without a target. */
  readonly meanMs: readonly Sweep[];
  readonly p99Ms: readonly Sweep[];
  readonly meanBoundMs: Sweep | undefined;
  /** With the target: the share of all items served within it. */
  readonly goodput: readonly Sweep[];
  readonly stretches: readonly Stretch[];
}

/** Part of a run with the same arrivals for several contenders. */
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

/** At every batch size, or at some if there are many. */
function serviceOf(curve: Curve): (readonly [number, number])[] {
  const { maxBatchSize } = curve;
  const step = Math.ceil(maxBatchSize / 64);
  const sizes = Array.from({ length: maxBatchSize }, (_, i) => i + 1);
  return sizes
    .filter((size) => size === 1 || size === maxBatchSize || size % step === 0)
    .map((size) => [size, curve.durationMs(size)]);
}

/** Without a target, latency at full load or above depends on the length of the run. */
const LATENCY_LOADS = LOADS.filter((load) => load < 1);

const STRETCHES: readonly {
  readonly title: string;
  readonly about: string;
  readonly load: number;
  readonly arrivals: (perMs: number) => OpenArrivals;
}[] = [
  {
    title: 'Independent callers',
    about: 'Poisson arrivals at 60 % load.',
    load: 0.6,
    arrivals: poisson,
  },
  {
    title: 'Bursts',
    about: 'Each request fans out into 16 items within 0.5 ms, at 40 % load.',
    load: 0.4,
    arrivals: (perMs) => fanOut(perMs),
  },
];

/** Batches that a timeline shows, about, and batches before, in which the policy learns. */
const SHOWN_BATCHES = 14;
const EARLIER_BATCHES = 300;

class Cell {
  readonly #described: ShowcaseCurve;
  readonly #curve: Curve;
  readonly #slots: number;
  readonly #options: ShowcaseOptions;
  readonly #advance: () => void;
  /** Maximum throughput of all slots. */
  readonly #perMs: number;
  readonly #targetLatencyMs: number;

  constructor(described: ShowcaseCurve, slots: number, options: ShowcaseOptions, advance: () => void) {
    this.#described = described;
    this.#curve = described.curve;
    this.#slots = slots;
    this.#options = options;
    this.#advance = advance;
    this.#perMs = slots * capacity(this.#curve).perMs;
    this.#targetLatencyMs = 2 * this.#curve.durationMs(this.#curve.maxBatchSize);
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
      const onTime = await this.#sweep(contender, LOADS, this.#targetLatencyMs);
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
      targetLatencyMs: this.#targetLatencyMs,
      meanMs: mean,
      p99Ms: p99,
      meanBoundMs: this.#bound(),
      goodput,
      stretches,
    };
  }

  async #sweep(contender: Contender, loads: readonly number[], targetLatencyMs: number) {
    const measured: { load: number; meanMs: number; p99Ms: number; goodput: number }[] = [];
    for (const load of loads) {
      const { effort = 1 } = this.#options;
      const items = Math.ceil(effort * Math.max(8_000, 60 * this.#curve.maxBatchSize * this.#slots));
      const run = await simulate(
        this.#scenario(poisson(load * this.#perMs), items, targetLatencyMs),
        contender,
      );
      // The first tenth is not measured: it begins with an empty queue and an unknown curve.
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
      // The same time span for all, so that the arrivals are the same.
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

  #scenario(arrivals: OpenArrivals, items: number, targetLatencyMs: number): Scenario {
    return {
      name: 'showcase',
      curve: this.#curve,
      slots: this.#slots,
      arrivals,
      items,
      targetLatencyMs,
      noise: 0,
      timerMs: 1,
      seed: this.#options.seed ?? 1,
    };
  }
}
