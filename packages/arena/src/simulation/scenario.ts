/** A scenario (backend, traffic, target latency and faults), and the contenders that are compared in it. */
import type { CurvePoint, Policy } from 'batchwise';
import type { Arrivals } from './arrivals.js';
import type { Curve } from './curve.js';
import type { Random } from './random.js';

export interface Scenario {
  readonly name: string;
  readonly curve: Curve;
  /** Batches that may run concurrently; of all backends together. */
  readonly slots: number;
  /** Backends with curves and slots of their own. @default one, with the curve and the slots of the scenario */
  readonly backends?: readonly SimulatedBackend[];
  readonly arrivals: Arrivals;
  /** Items that arrive, at most. */
  readonly items: number;
  /** Target latency; Infinity for none. */
  readonly targetLatencyMs: number;
  /** Service time noise: the standard deviation of the logarithm of batch durations. */
  readonly noise: number;
  /** Timer resolution; 0 for ideal timers. */
  readonly timerMs: number;
  readonly seed: number;
  /** Maximum hold of an item while a slot is free. */
  readonly maxWaitMs?: number;
  /** The `batchSizes` option of the batcher: sizes to which the backend pads batches. */
  readonly batchSizes?: readonly number[];
  /** From `atMs` on every batch takes `factor` times as long; with `overMs` the factor is reached gradually. */
  readonly slowdown?: { readonly atMs: number; readonly factor: number; readonly overMs?: number };
  /** Heavy tail of durations: Pareto, or a share of batches that take `factor` times as long. The mean is kept. */
  readonly tail?:
    | { readonly kind: 'pareto'; readonly alpha: number }
    | { readonly kind: 'outliers'; readonly share: number; readonly factor: number };
  /** Periods in which all slots are stalled. */
  readonly stalls?: readonly { readonly atMs: number; readonly ms: number }[];
  /** The first batch from `atMs` on occupies its slot for `ms`, and its callers get no response. */
  readonly hang?: { readonly atMs: number; readonly ms: number };
  /** The `curve` option of the batcher, which may be wrong. */
  readonly knownCurve?: readonly CurvePoint[];
  /** No item arrives after this time. */
  readonly untilMs?: number;
  /** Items that arrive earlier are not measured. */
  readonly measureFromMs?: number;
  /** Draws cost, group, priority and tenant of an item; all items are equal unless given. */
  readonly traits?: (random: Random) => Traits;
  /** Share of rejected items that are retried once, after their `retryAfterMs`. @default 0 */
  readonly obeysRetryAfter?: number;
}

export interface SimulatedBackend {
  readonly curve: Curve;
  readonly slots: number;
  /** Periods in which it refuses batches; those that run are completed. */
  readonly outages?: readonly { readonly atMs: number; readonly ms: number }[];
}

export interface Traits {
  readonly cost?: number;
  readonly group?: unknown;
  readonly priority?: number;
  readonly tenant?: string;
}

/** A policy to compare, and what its batcher is configured with. */
export interface Contender {
  readonly name: string;
  /** Returns a new policy, which has learned nothing, for one run. */
  policy(scenario: Scenario): Policy;
  /** Whether `targetLatencyMs` of the batcher is set. */
  readonly knowsTarget: boolean;
  /** Whether admission control rejects items that cannot meet the target. @default true */
  readonly admission?: boolean;
  /** The `curve` option of the batcher: true for the true service curve. @default false: the curve is learned */
  readonly knowsCurve?: boolean | readonly CurvePoint[];
}
