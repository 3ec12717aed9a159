/**
 * What a policy is shown of a queue of which only the head is here: the items that were taken, and behind them those that
 * are known to wait in Redis. Of these nothing is known but how many: each answers as the last one that was taken.
 */
import type { BackendView, CurveEstimate, Limits, QueueView, RunningWork, TrafficEstimate } from 'batchwise';

export class BacklogView implements QueueView {
  readonly traffic: TrafficEstimate;
  /** Whether the user has groups; the processor keeps some items apart for reasons of its own. */
  readonly isGrouped: boolean;
  #here: QueueView;
  #elsewhere = 0;

  constructor(here: QueueView, traffic: TrafficEstimate, isGrouped: boolean) {
    this.#here = here;
    this.traffic = traffic;
    this.isGrouped = isGrouped;
  }

  show(here: QueueView, elsewhere: number): this {
    this.#here = here;
    this.#elsewhere = elsewhere;
    return this;
  }

  get length(): number {
    return this.#here.length + this.#elsewhere;
  }

  get cost(): number {
    const { cost, length } = this.#here;
    return cost + (this.#elsewhere * cost) / length;
  }

  get oldestAt(): number {
    return this.#here.oldestAt;
  }

  get waitingElsewhere(): number {
    return this.#here.waitingElsewhere;
  }

  arrivedAt(position: number): number {
    return this.#here.arrivedAt(this.#known(position));
  }

  costAt(position: number): number {
    return position < this.#here.length ? this.#here.costAt(position) : this.#here.cost / this.#here.length;
  }

  deadlineAt(position: number): number {
    return this.#here.deadlineAt(this.#known(position));
  }

  earliestDeadline(count: number): number {
    return this.#here.earliestDeadline(Math.min(count, this.#here.length));
  }

  get nextDeadline(): number {
    return this.#here.nextDeadline;
  }

  get slots(): number {
    return this.#here.slots;
  }

  get freeSlots(): number {
    return this.#here.freeSlots;
  }

  get backends(): readonly BackendView[] {
    return this.#here.backends;
  }

  get running(): readonly RunningWork[] {
    return this.#here.running;
  }

  get lastDispatchAt(): number {
    return this.#here.lastDispatchAt;
  }

  get freeSince(): number {
    return this.#here.freeSince;
  }

  get limits(): Limits {
    return this.#here.limits;
  }

  get curve(): CurveEstimate {
    return this.#here.curve;
  }

  #known(position: number): number {
    return Math.min(position, this.#here.length - 1);
  }
}
