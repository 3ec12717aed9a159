/**
 * Items of one group, one tenant and one priority, first in, first out. A doubly linked list, so that
 * a caller who gives up is gone at once and costs nobody a search.
 */
import { Age } from './age.js';
import type { Entry, EntryRemoval } from './entry.js';
import type { Group } from './group.js';
import type { HeapNode } from './heap.js';
import type { Share } from './share.js';
import type { Tenant } from './tenants.js';

/** All that waits at one priority, over all groups and tenants. */
export interface PriorityClass {
  readonly priority: number;
  items: number;
  cost: number;
}

export class Lane implements HeapNode {
  readonly removal: EntryRemoval;
  readonly share: Share;
  readonly group: Group;
  readonly tenant: Tenant;
  readonly priorityClass: PriorityClass;
  /** How much older than it is the head counts, for its priority. */
  readonly headStartMs: number;

  head: Entry | undefined = undefined;
  tail: Entry | undefined = undefined;
  /** That of its head, among its group's. */
  readonly age: Age = new Age(this, undefined);

  /** Its place among its share's lanes, and its rank when it was put there; a rank only ever grows. */
  heapIndex = -1;
  keyRank = 0;
  /** Decides between lanes that are otherwise equal: grows with each time that an empty one begins anew. */
  order = 0;

  constructor(removal: EntryRemoval, share: Share, priorityClass: PriorityClass, headStartMs: number) {
    this.removal = removal;
    this.share = share;
    this.group = share.group;
    this.tenant = share.tenant;
    this.priorityClass = priorityClass;
    this.headStartMs = headStartMs;
  }

  /** When the head would have come had all priorities been equal: ageing, with nothing to recompute. */
  get rank(): number {
    return (this.head?.moment.at ?? 0) - this.headStartMs;
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
    this.addToSums(1, entry.cost);
  }

  prepend(entry: Entry): void {
    const { head } = this;
    if (head === undefined) this.tail = entry;
    else {
      head.previous = entry;
      entry.next = head;
    }
    this.head = entry;
    this.addToSums(1, entry.cost);
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

  /** Adds to all the sums that its entries belong to. */
  addToSums(items: number, cost: number): void {
    const { group, tenant, priorityClass } = this;
    group.length += items;
    group.cost += cost;
    priorityClass.items += items;
    priorityClass.cost += cost;
    tenant.queuedItems += items;
    tenant.queuedCost += cost;
  }
}
