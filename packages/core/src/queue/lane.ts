/**
 * Queued items of one group, one tenant and one priority, first in, first out: a doubly linked list, so that an
 * item is removed without a search. A lane exists while it has items.
 */

import type { HeapNode } from '../heap.js';
import type { Entry } from './entry.js';
import type { Group } from './group.js';
import type { Tenant } from './tenants.js';

/** All queued items of one priority. */
export interface PriorityClass {
  readonly priority: number;
  /** Subtracted from the arrival time of its items in the order within a tenant. */
  readonly headStartMs: number;
  cost: number;
}

/** A node of the heap that finds the oldest item of a group. */
export interface Aged extends HeapNode {
  readonly arrivedAt: number;
}

export class Lane implements Aged {
  readonly group: Group;
  readonly tenant: Tenant;
  readonly priorityClass: PriorityClass;
  /** Decides between lanes of equal rank: grows with each lane. */
  readonly order: number;
  /** Undefined once the lane is empty. */
  head: Entry | undefined = undefined;
  tail: Entry | undefined = undefined;
  heapIndex = -1;
  readonly inTenant = new LaneNode(this);
  readonly inGroup = new LaneNode(this);

  constructor(group: Group, tenant: Tenant, priorityClass: PriorityClass, order: number) {
    this.group = group;
    this.tenant = tenant;
    this.priorityClass = priorityClass;
    this.order = order;
  }

  /** The arrival of its head. Its items are in order of arrival, except for items that were queued elsewhere before. */
  get arrivedAt(): number {
    return (this.head as Entry).moment.at;
  }

  append(entry: Entry): void {
    const { tail } = this;
    entry.lane = this;
    if (tail === undefined) this.head = entry;
    else {
      tail.next = entry;
      entry.previous = tail;
    }
    this.tail = entry;
    this.#addToSums(1, entry.cost);
  }

  prepend(entry: Entry): void {
    const { head } = this;
    if (head === undefined) {
      this.append(entry);
      return;
    }
    entry.lane = this;
    head.previous = entry;
    entry.next = head;
    this.head = entry;
    this.#addToSums(1, entry.cost);
  }

  /** Takes up to `count` items from its head into a batch of this cost, up to `maxCost`; returns what they cost. */
  take(batch: Entry[], count: number, batchCost: number, maxCost: number): number {
    const before = batch.length;
    let cost = 0;
    let entry = this.head;
    while (entry !== undefined && batch.length - before < count && batchCost + cost + entry.cost <= maxCost) {
      const { next }: Entry = entry;
      batch.push(entry);
      cost += entry.cost;
      entry.next = undefined;
      entry.previous = undefined;
      entry = next;
    }
    this.head = entry;
    if (entry === undefined) this.tail = undefined;
    else entry.previous = undefined;
    this.#addToSums(before - batch.length, -cost);
    return cost;
  }

  remove(entry: Entry): void {
    const { previous, next } = entry;
    if (previous === undefined) this.head = next;
    else previous.next = next;
    if (next === undefined) this.tail = previous;
    else next.previous = previous;
    // A removed entry that still pointed into the list would keep its old neighbours alive.
    entry.previous = undefined;
    entry.next = undefined;
    this.#addToSums(-1, -entry.cost);
  }

  /** Updates the sums of its group, tenant and priority. */
  #addToSums(items: number, cost: number): void {
    const { group, tenant, priorityClass } = this;
    group.length += items;
    group.cost += cost;
    priorityClass.cost += cost;
    tenant.queuedItems += items;
    tenant.queuedCost += cost;
  }
}

/** The place of a lane in the heap of its tenant or its group. */
export class LaneNode implements HeapNode {
  readonly lane: Lane;
  heapIndex = -1;
  /** What the tenant had been served when the lane was last sorted in its group. */
  served = 0;

  constructor(lane: Lane) {
    this.lane = lane;
  }

  get next(): Entry | undefined {
    return this.lane.head;
  }
}

/** An item that is older than items ahead of it in its lane, because it was queued elsewhere before. */
export class OlderItem implements Aged {
  readonly entry: Entry;
  readonly arrivedAt: number;
  heapIndex = -1;

  constructor(entry: Entry) {
    this.entry = entry;
    this.arrivedAt = entry.moment.at;
  }

  get isQueued(): boolean {
    return this.entry.isQueued;
  }
}

/** The order within a tenant: by arrival minus the head start of the priority. It never changes, so priorities age. */
export function isEarlier(a: NextOfLane, b: NextOfLane): boolean {
  const aRank = (a.next as Entry).moment.at - a.lane.priorityClass.headStartMs;
  const bRank = (b.next as Entry).moment.at - b.lane.priorityClass.headStartMs;
  return aRank === bRank ? a.lane.order < b.lane.order : aRank < bRank;
}

/** The order within a group: by what the tenants have been served, then as within a tenant. */
export function isServedBefore(a: NextOfLane, b: NextOfLane): boolean {
  if (a.served !== b.served) return a.served < b.served;
  const { tenant } = a.lane;
  const other = b.lane.tenant;
  return tenant === other ? isEarlier(a, b) : tenant.order < other.order;
}

/** The next item of a lane, and what its tenant has been served before it. */
export interface NextOfLane {
  readonly lane: Lane;
  readonly next: Entry | undefined;
  readonly served: number;
}
