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
  #traffic: TrafficEstimate | undefined = undefined;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
  }

  show(group: Group): this {
    this.#group = group;
    this.length = group.length;
    this.cost = group.cost;
    return this;
  }

  /** Shows nothing any more. */
  hide(): void {
    this.#group = undefined;
    this.#order = undefined;
    this.#traffic = undefined;
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
    return this.#dispatcher.placement.usable;
  }

  get running(): readonly RunningWork[] {
    return this.#dispatcher.placement.viewed?.running ?? this.#dispatcher.running.all;
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
    return (this.#dispatcher.placement.viewed ?? this.#learned).curve;
  }

  get traffic(): TrafficEstimate {
    if (this.#traffic === undefined) {
      const { traffic } = this.#learned;
      const share = this.#dispatcher.placement.shareOfViewed(this.limits.maxBatchSize);
      this.#traffic = share === 1 ? traffic : shareOf(traffic, share);
    }
    return this.#traffic;
  }

  /** What was learned of the group, or of all items. */
  get #learned(): { readonly curve: CurveEstimate; readonly traffic: TrafficEstimate } {
    return this.isGrouped ? this.#dispatcher.groups.of(this.#group?.key) : this.#dispatcher;
  }

  #at(position: number): Entry {
    this.#order ??= this.#group?.order();
    const entry = this.#order?.at(position);
    if (entry === undefined)
      throw new RangeError(`There is no position ${position} in a queue of ${this.length}.`);
    return entry;
  }
}
