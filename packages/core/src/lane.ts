/**
 * Items of one group, one tenant and one priority, first in, first out. A doubly linked list, so that
 * a caller who gives up is gone at once and costs nobody a search.
 */
import type { Entry, EntryOwner } from './entry.js';
import type { Group } from './group.js';
import type { HeapNode } from './heap.js';
import { Claim, type Tenant } from './tenants.js';

/** All that waits at one priority, over all groups and tenants. */
export interface PriorityClass {
  readonly priority: number;
  cost: number;
}

export class Lane implements HeapNode {
  readonly owner: EntryOwner;
  readonly group: Group;
  readonly tenant: Tenant;
  readonly priorityClass: PriorityClass;
  /** How much older than it is the head counts, for its priority. */
  readonly headStartMs: number;
  /** The next lane of the same group and tenant. */
  sibling: Lane | undefined;

  head: Entry | undefined = undefined;
  tail: Entry | undefined = undefined;

  /** Its place among its tenant's lanes. */
  readonly claim = new Claim(this);
  /** Decides between lanes that are otherwise equal: grows with each time that an empty lane begins anew. */
  order = 0;
  /** Its place among its group's lanes. */
  heapIndex = -1;
  // The keys by which it was last put in its place. What a tenant has been served and how late the
  // head came only ever grow while the lane is in a heap, so a place that is out of date is found
  // when the lane comes up first, and not before it matters.
  keyServed = 0;
  keyRank = 0;

  constructor(
    owner: EntryOwner,
    group: Group,
    tenant: Tenant,
    priorityClass: PriorityClass,
    headStartMs: number,
    sibling: Lane | undefined,
  ) {
    this.owner = owner;
    this.group = group;
    this.tenant = tenant;
    this.priorityClass = priorityClass;
    this.headStartMs = headStartMs;
    this.sibling = sibling;
  }

  /** When the head would have come had all priorities been equal: ageing, with nothing to recompute. */
  get rank(): number {
    return (this.head?.moment.at ?? 0) - this.headStartMs;
  }

  get keyIsCurrent(): boolean {
    return this.keyServed === this.tenant.served && this.keyRank === this.rank;
  }

  refreshKey(): void {
    this.keyServed = this.tenant.served;
    this.keyRank = this.rank;
  }

  append(entry: Entry): void {
    entry.lane = this;
    const { tail } = this;
    if (tail === undefined) this.head = entry;
    else {
      tail.next = entry;
      entry.previous = tail;
    }
    this.tail = entry;
    this.count(1, entry.cost);
  }

  /** Counts entries in all the sums they belong to. */
  count(items: number, cost: number): void {
    const { group, tenant, priorityClass } = this;
    group.length += items;
    group.cost += cost;
    priorityClass.cost += cost;
    tenant.queuedItems += items;
    tenant.queuedCost += cost;
  }

  prepend(entry: Entry): void {
    const { head } = this;
    if (head === undefined) this.tail = entry;
    else {
      head.previous = entry;
      entry.next = head;
    }
    this.head = entry;
    this.count(1, entry.cost);
  }

  /** Detaches the head; returns what comes after it, to be given to `beginWith` in the end. */
  behead(head: Entry): Entry | undefined {
    const { next } = head;
    head.next = undefined;
    head.previous = undefined;
    return next;
  }

  beginWith(head: Entry | undefined): void {
    this.head = head;
    if (head === undefined) this.tail = undefined;
    else head.previous = undefined;
  }

  remove(entry: Entry): void {
    const { previous, next } = entry;
    if (previous === undefined) this.head = next;
    else previous.next = next;
    if (next === undefined) this.tail = previous;
    else next.previous = previous;
    // A removed node that still pointed into the list would keep its old neighbours alive.
    entry.previous = undefined;
    entry.next = undefined;
  }
}
