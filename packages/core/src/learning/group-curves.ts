/**
 * The curves of groups: all share one until the durations of a group differ from it, as with groups by model or by length.
 * Bounded: the group that was used least recently is forgotten.
 */
import type { ServiceCurve } from './service-curve.js';

/** Groups that are remembered: some 100 KiB. */
const MOST_GROUPS = 256;
/** A group gets a curve of its own from this ratio to the shared one on, in either direction. */
const OWN_CURVE = Math.log(1.4);
/** Batches, and standard errors, after which a ratio is believed. */
const LEAST_BATCHES = 4;
const CERTAIN = 3;

export class GroupCurves {
  readonly #shared: ServiceCurve;
  readonly #groups = new Map<unknown, GroupCurve>();

  constructor(shared: ServiceCurve) {
    this.#shared = shared;
  }

  of(key: unknown): ServiceCurve {
    return this.#groups.get(key)?.curve ?? this.#shared;
  }

  /** To be called before the shared curve records the batch. */
  record(key: unknown, cost: number, durationMs: number, now: number): void {
    let group = this.#groups.get(key);
    if (group === undefined) {
      if (this.#groups.size === MOST_GROUPS) this.#groups.delete(this.#groups.keys().next().value);
      group = new GroupCurve(this.#shared);
    } else this.#groups.delete(key);
    this.#groups.set(key, group);
    group.record(cost, durationMs, this.#shared, now);
  }

  padTo(batchSizes: readonly number[]): void {
    for (const { own } of this.#groups.values()) own.padTo(batchSizes);
  }
}

class GroupCurve {
  readonly own: ServiceCurve;
  curve: ServiceCurve;
  /** Of ln(duration ÷ expectation of the shared curve). */
  #batches = 0;
  #mean = 0;
  #squares = 0;

  constructor(shared: ServiceCurve) {
    this.curve = shared;
    this.own = shared.copy();
  }

  record(cost: number, durationMs: number, shared: ServiceCurve, now: number): void {
    this.own.record(cost, durationMs, now);
    const expected = shared.mean(cost);
    if (this.curve === this.own || !(expected !== undefined && expected > 0 && durationMs > 0)) return;
    const ratio = Math.log(durationMs / expected);
    this.#batches += 1;
    const difference = ratio - this.#mean;
    this.#mean += difference / this.#batches;
    this.#squares += difference * (ratio - this.#mean);
    const error = (CERTAIN * Math.sqrt(this.#squares)) / this.#batches;
    if (this.#batches >= LEAST_BATCHES && Math.abs(this.#mean) > Math.max(OWN_CURVE, error))
      this.curve = this.own;
  }
}
