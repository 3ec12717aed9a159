/** What is simulated: a backend, its callers, and what they expect. */
import type { CurvePoint } from 'batchwise';
import type { Arrivals } from './arrivals.js';
import type { Curve } from './curve.js';
import type { Random } from './random.js';

export interface Scenario {
  readonly name: string;
  readonly curve: Curve;
  /** How many batches may run at a time. */
  readonly slots: number;
  readonly arrivals: Arrivals;
  /** How many items come. */
  readonly items: number;
  /** The latency aimed at; Infinity for none. */
  readonly targetMs: number;
  /** The spread of batch durations: the standard deviation of their logarithm. */
  readonly noise: number;
  /** What timers are rounded up to; 0 for ideal ones. */
  readonly timerMs: number;
  readonly seed: number;
  /** The longest an item may be held while a slot is free. */
  readonly maxWaitMs?: number;
  /** The sizes the backend pads batches to, if the batcher is told. */
  readonly batchSizes?: readonly number[];
  /** From this time on every batch takes `factor` times as long; with `overMs` that is reached by and by. */
  readonly slowdown?: { readonly atMs: number; readonly factor: number; readonly overMs?: number };
  /** Durations beyond the noise: Pareto distributed, or a share of batches that take `factor` times as long. The mean is kept. */
  readonly tail?:
    | { readonly kind: 'pareto'; readonly alpha: number }
    | { readonly kind: 'outliers'; readonly share: number; readonly factor: number };
  /** Times in which no slot gets anything done. */
  readonly stalls?: readonly { readonly atMs: number; readonly ms: number }[];
  /** The first batch from `atMs` on holds its slot for `ms`, and its callers get no answer. */
  readonly hang?: { readonly atMs: number; readonly ms: number };
  /** The `curve` option of the batcher, right or wrong. */
  readonly knownCurve?: readonly CurvePoint[];
  /** No item comes after this time. */
  readonly untilMs?: number;
  /** Items that come earlier are not measured. */
  readonly measureFromMs?: number;
  /** What sets an item apart from the others; nothing unless given. */
  readonly traits?: (random: Random) => Traits;
  /** Which share of those who are refused come back when they were told to, once; none unless given. */
  readonly obeysRetryAfter?: number;
}

export interface Traits {
  readonly cost?: number;
  readonly group?: unknown;
  readonly priority?: number;
  readonly tenant?: string;
}
