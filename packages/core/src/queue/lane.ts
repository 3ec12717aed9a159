/**
 * Queued items of one group, one tenant and one priority, in order of arrival: a doubly linked list, so that an item is
 * removed without a search. A lane exists while it has items.
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

/**
 * How many items from either end are compared with an item that was queued elsewhere before, so that no call takes time
 * in proportion to the queue. Behind that, the item overtakes so many younger ones, and not all.
 */
const MOST_COMPARED = 256;

/** A node of the heap that finds the oldest item of its group. */
export class Lane implements HeapNode {
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

  /** The arrival of its first item, the oldest except beyond `MOST_COMPARED`. */
  get oldestAt(): number {
    return (this.head as Entry).moment.at;
  }

  /** Adds an item behind those that arrived earlier or at the same time. */
  append(entry: Entry): void {
    const { tail } = this;
    const { at } = entry.moment;
    this.#insert(entry, tail === undefined || tail.moment.at <= at ? undefined : this.#firstAfter(at, tail));
  }

  /** Puts an item back that was ahead of the items which arrived at the same time. */
  putBack(entry: Entry): void {
    let next = this.head;
    for (let compared = 0; next !== undefined && next.moment.at < entry.moment.at; compared++) {
      if (compared === MOST_COMPARED) break;
      next = next.next;
    }
    this.#insert(entry, next);
  }

  /** The first item that arrived after this time. It is searched from both ends, because most items are near one. */
  #firstAfter(at: number, tail: Entry): Entry {
    let fromHead = this.head;
    let fromTail = tail;
    for (let compared = 0; compared < MOST_COMPARED; compared++) {
      if (fromHead !== undefined && fromHead.moment.at > at) return fromHead;
      const { previous } = fromTail;
      if (previous === undefined || previous.moment.at <= at) return fromTail;
      fromHead = fromHead?.next;
      fromTail = previous;
    }
    return fromTail;
  }

  /** Behind all others without `next`. */
  #insert(entry: Entry, next: Entry | undefined): void {
    const previous = next === undefined ? this.tail : next.previous;
    entry.lane = this;
    entry.previous = previous;
    entry.next = next;
    if (previous === undefined) this.head = entry;
    else previous.next = entry;
    if (next === undefined) this.tail = entry;
    else next.previous = entry;
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
