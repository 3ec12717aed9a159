/** What a policy sees of one group. One object a batcher, pointed at a group for each decision. */
import type { Placement } from '../backends/placement.js';
import type { LearnedGroups } from '../learning/learned-groups.js';
import type { CurveEstimate } from '../learning/service-curve.js';
import { shareOf, type TrafficEstimate } from '../learning/traffic.js';
import type { BackendView, Limits, QueueView, RunningWork } from '../policy/policy.js';
import type { DispatchOrder } from '../queue/dispatch-order.js';
import type { Entry } from '../queue/entry.js';
import type { Group } from '../queue/group.js';
import type { ItemQueue } from '../queue/item-queue.js';

/** What the view shows besides the group. */
export interface ViewedBatcher {
  readonly settings: Limits & { readonly groupOf: unknown };
  readonly placement: Placement;
  readonly queue: ItemQueue;
  readonly groups: LearnedGroups;
  readonly running: readonly RunningWork[];
  readonly lastDispatchAt: number;
  readonly freeSince: number;
  readonly deadlines: { readonly earliest: number };
  readonly curve: CurveEstimate;
  readonly traffic: TrafficEstimate;
}

export class GroupView implements QueueView {
  readonly #batcher: ViewedBatcher;
  #group: Group | undefined = undefined;
  #length = 0;
  #cost = 0;
  #order: DispatchOrder | undefined = undefined;
  /** `changes` of the queue when the view was shown. */
  #changes = 0;

  constructor(batcher: ViewedBatcher) {
    this.#batcher = batcher;
  }

  show(group: Group): this {
    this.#group = group;
    this.#length = group.length;
    this.#cost = group.cost;
    this.#changes = this.#batcher.queue.changes;
    return this;
  }

  /** Shows nothing any more. */
  hide(): void {
    this.#group = undefined;
    this.#order = undefined;
  }

  /** What it shows is out of date: the policy itself has changed the queue. */
  get isOutdated(): boolean {
    return this.#changes !== this.#batcher.queue.changes;
  }

  get length(): number {
    return this.#length;
  }

  get cost(): number {
    return this.#cost;
  }

  get oldestAt(): number {
    return this.#group?.oldestAt ?? Number.POSITIVE_INFINITY;
  }

  get waitingElsewhere(): number {
    return this.#batcher.queue.length - this.#length;
  }

  arrivedAt(position: number): number {
    return this.#at(position).arrivedAt;
  }

  costAt(position: number): number {
    return this.#at(position).cost;
  }

  tenantAt(position: number): string | undefined {
    return this.#at(position).lane?.tenant.id;
  }

  deadlineAt(position: number): number {
    const entry = this.#at(position);
    const { targetLatencyMs } = this.limits;
    return (
      entry.shared?.latestDeadline(targetLatencyMs) ??
      Math.min(entry.deadline, entry.arrivedAt + targetLatencyMs)
    );
  }

  earliestDeadline(count: number): number {
    // Without deadlines of their own, the oldest item has the earliest.
    if (this.#batcher.deadlines.earliest === Number.POSITIVE_INFINITY) {
      return this.oldestAt + this.limits.targetLatencyMs;
    }
    let earliest = Number.POSITIVE_INFINITY;
    const last = Math.min(count, this.#length);
    for (let position = 0; position < last; position++) {
      earliest = Math.min(earliest, this.deadlineAt(position));
    }
    return earliest;
  }

  get isGrouped(): boolean {
    const { settings, queue } = this.#batcher;
    return settings.groupOf !== undefined && queue.hasSeveralGroups;
  }

  get slots(): number {
    return this.#batcher.placement.viewed?.slots ?? this.#batcher.placement.slots;
  }

  get freeSlots(): number {
    return this.#batcher.placement.viewed?.freeSlots ?? this.#batcher.placement.freeSlots;
  }

  get backends(): readonly BackendView[] {
    return this.#batcher.placement.views;
  }

  get running(): readonly RunningWork[] {
    return this.#batcher.placement.viewed?.running ?? this.#batcher.running;
  }

  get lastDispatchAt(): number {
    return this.#batcher.lastDispatchAt;
  }

  get freeSince(): number {
    return this.#batcher.freeSince;
  }

  get nextDeadline(): number {
    const { settings, deadlines } = this.#batcher;
    return Math.min(this.oldestAt + settings.targetLatencyMs, deadlines.earliest);
  }

  get limits(): Limits {
    return this.#batcher.settings;
  }

  get curve(): CurveEstimate {
    const { placement, curve, groups } = this.#batcher;
    return placement.chosen?.curve ?? (this.isGrouped ? groups.of(this.#group?.key).curve : curve);
  }

  get traffic(): TrafficEstimate {
    const { groups, placement } = this.#batcher;
    const { traffic } = this.isGrouped ? groups.of(this.#group?.key) : this.#batcher;
    const share = placement.shareOfChosen(this.limits.maxBatchSize);
    return share === 1 ? traffic : shareOf(traffic, share);
  }

  #at(position: number): Entry {
    this.#order ??= this.#group?.order();
    const entry = this.isOutdated ? undefined : this.#order?.at(position);
    if (entry === undefined)
      throw new RangeError(`There is no position ${position} in a queue of ${this.#length}.`);
    return entry;
  }
}
