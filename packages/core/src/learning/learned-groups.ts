/**
 * What is learned of each group: its arrivals, and its curve. All groups share one curve until the durations of a group
 * differ from it, as with groups by model or by length. Bounded: the group that was used least recently is forgotten.
 */
import { SURE_WEIGHT } from './bucket.js';
import { CERTAIN_DEVIATIONS, DIFFERENT_CURVES_LOG_RATIO, type ServiceCurve } from './service-curve.js';
import { type EndedBatch, Traffic } from './traffic.js';

/** Groups that are remembered: some 500 KiB. */
const MOST_GROUPS = 256;

export class LearnedGroups {
  readonly #shared: ServiceCurve;
  /** The least recently used first. */
  readonly #groups = new Map<unknown, LearnedGroup>();
  /** Stands for a group that is not remembered. */
  readonly #unknown: LearnedGroup;

  constructor(shared: ServiceCurve) {
    this.#shared = shared;
    this.#unknown = new LearnedGroup(shared);
  }

  of(key: unknown): { readonly curve: ServiceCurve; readonly traffic: Traffic } {
    return this.#groups.get(key) ?? this.#unknown;
  }

  /** `count` items of a group arrived together at `at`. */
  arrived(key: unknown, count: number, at: number): void {
    this.#used(key).traffic.arrived(count, at);
  }

  /** To be called before the shared curve records the batch. */
  batchEnded(key: unknown, batch: EndedBatch, now: number): void {
    const group = this.#used(key);
    group.record(batch.cost, batch.durationMs, now);
    group.traffic.batchEnded(batch, now);
  }

  padTo(batchSizes: readonly number[]): void {
    for (const { own } of this.#groups.values()) own?.padTo(batchSizes);
  }

  #used(key: unknown): LearnedGroup {
    let group = this.#groups.get(key);
    if (group === undefined) {
      if (this.#groups.size === MOST_GROUPS) this.#groups.delete(this.#groups.keys().next().value);
      group = new LearnedGroup(this.#shared);
    } else this.#groups.delete(key);
    this.#groups.set(key, group);
    return group;
  }
}

class LearnedGroup {
  readonly traffic = new Traffic();
  own: ServiceCurve | undefined;
  /** Its own if that differs from the shared one. */
  curve: ServiceCurve;
  readonly #shared: ServiceCurve;
  /** Of ln(duration ÷ expectation of the shared curve). */
  #batches = 0;
  #mean = 0;
  #squares = 0;

  constructor(shared: ServiceCurve) {
    this.curve = shared;
    this.#shared = shared;
  }

  record(cost: number, durationMs: number, now: number): void {
    this.own ??= this.#shared.copy();
    this.own.record(cost, durationMs, now);
    const expected = this.#shared.mean(cost);
    if (this.curve === this.own || !(expected !== undefined && expected > 0 && durationMs > 0)) return;
    const ratio = Math.log(durationMs / expected);
    this.#batches += 1;
    const difference = ratio - this.#mean;
    this.#mean += difference / this.#batches;
    this.#squares += difference * (ratio - this.#mean);
    const error = (CERTAIN_DEVIATIONS * Math.sqrt(this.#squares)) / this.#batches;
    if (this.#batches > SURE_WEIGHT && Math.abs(this.#mean) > Math.max(DIFFERENT_CURVES_LOG_RATIO, error))
      this.curve = this.own;
  }
}
