/**
 * What is learned of each group: its arrivals, and its curve. Bounded: the group that was used least recently is
 * forgotten.
 */
import { CurveOwner } from './curve-owner.js';
import type { ServiceCurve } from './service-curve.js';
import { type EndedBatch, Traffic } from './traffic.js';

/** Groups that are remembered: some 500 KiB. */
const MOST_GROUPS = 256;

class LearnedGroup extends CurveOwner {
  readonly traffic = new Traffic();
}

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

  /** Called before the shared curve records the batch. */
  batchEnded(key: unknown, batch: EndedBatch, now: number): void {
    const group = this.#used(key);
    group.record(batch.cost, batch.durationMs, now);
    group.traffic.batchEnded(batch, now);
  }

  /** A batch was abandoned after `elapsedMs`. */
  learnAtLeast(key: unknown, cost: number, elapsedMs: number, now: number): void {
    this.#groups.get(key)?.own?.recordAtLeast(cost, elapsedMs, now);
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
