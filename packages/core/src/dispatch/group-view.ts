/** What a policy sees of one group. A batcher has one view, which shows one group for each decision. */
import type { CurveEstimate } from '../learning/service-curve.js';
import { shareOf, type TrafficEstimate } from '../learning/traffic.js';
import type { BackendView, Limits, QueueView, RunningWork } from '../policy/policy.js';
import type { DispatchOrder } from '../queue/dispatch-order.js';
import type { Entry } from '../queue/entry.js';
import type { Group } from '../queue/group.js';
import type { Dispatcher } from './dispatcher.js';

export class GroupView implements QueueView {
  readonly #dispatcher: Dispatcher;
  /** The items of the group when it was shown, even if the policy changes the queue. */
  length = 0;
  cost = 0;
  #group: Group | undefined = undefined;
  #order: DispatchOrder | undefined = undefined;
  /** `changes` of the queue when the view was shown. */
  #changes = 0;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  show(group: Group): this {
    this.#group = group;
    this.length = group.length;
    this.cost = group.cost;
    this.#changes = this.#dispatcher.queue.changes;
    return this;
  }

  /** Shows nothing any more. */
  hide(): void {
    this.#group = undefined;
    this.#order = undefined;
  }

  /** What it shows is out of date: the policy itself has changed the queue. */
  get isOutdated(): boolean {
    return this.#changes !== this.#dispatcher.queue.changes;
  }

  get oldestAt(): number {
    return this.#group?.oldestAt ?? Number.POSITIVE_INFINITY;
  }

  get waitingElsewhere(): number {
    return this.#dispatcher.queue.length - this.length;
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
    if (this.#dispatcher.deadlines.earliest === Number.POSITIVE_INFINITY) {
      return this.oldestAt + this.limits.targetLatencyMs;
    }
    let earliest = Number.POSITIVE_INFINITY;
    const last = Math.min(count, this.length);
    for (let position = 0; position < last; position++) {
      earliest = Math.min(earliest, this.deadlineAt(position));
    }
    return earliest;
  }

  get isGrouped(): boolean {
    const { settings, queue } = this.#dispatcher;
    return settings.groupOf !== undefined && queue.hasSeveralGroups;
  }

  get slots(): number {
    return this.#dispatcher.placement.viewed?.slots ?? this.#dispatcher.placement.slots;
  }

  get freeSlots(): number {
    return this.#dispatcher.placement.viewed?.freeSlots ?? this.#dispatcher.placement.freeSlots;
  }

  get backends(): readonly BackendView[] {
    return this.#dispatcher.placement.views;
  }

  get running(): readonly RunningWork[] {
    return this.#dispatcher.placement.viewed?.running ?? this.#dispatcher.running;
  }

  get lastDispatchAt(): number {
    return this.#dispatcher.lastDispatchAt;
  }

  get freeSince(): number {
    return this.#dispatcher.freeSince;
  }

  get nextDeadline(): number {
    const { settings, deadlines } = this.#dispatcher;
    return Math.min(this.oldestAt + settings.targetLatencyMs, deadlines.earliest);
  }

  get limits(): Limits {
    return this.#dispatcher.settings;
  }

  get curve(): CurveEstimate {
    const { placement, curve, groups } = this.#dispatcher;
    return placement.chosen?.curve ?? (this.isGrouped ? groups.of(this.#group?.key).curve : curve);
  }

  get traffic(): TrafficEstimate {
    const { groups, placement } = this.#dispatcher;
    const { traffic } = this.isGrouped ? groups.of(this.#group?.key) : this.#dispatcher;
    const share = placement.shareOfChosen(this.limits.maxBatchSize);
    return share === 1 ? traffic : shareOf(traffic, share);
  }

  #at(position: number): Entry {
    this.#order ??= this.#group?.order();
    const entry = this.isOutdated ? undefined : this.#order?.at(position);
    if (entry === undefined)
      throw new RangeError(`There is no position ${position} in a queue of ${this.length}.`);
    return entry;
  }
}
