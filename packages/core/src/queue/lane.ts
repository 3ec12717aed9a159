/**
 * Items of one group, one tenant and one priority, first in, first out. A doubly linked list, so that an
 * item is removed without a search.
 */
import type { Entry, EntryRemoval } from './entry.js';
import type { Group } from './group.js';
import type { HeapNode } from './heap.js';
import type { Share } from './share.js';
import type { Tenant } from './tenants.js';

/** All queued items of one priority, over all groups and tenants. */
export interface PriorityClass {
  readonly priority: number;
  cost: number;
}

/** What is sorted by arrival, to find the oldest item of a group. */
export interface Aged extends HeapNode {
  /** The arrival when it was last sorted. It only grows, so it is brought up to date when it comes up first. */
  sortedAt: number;
  /** The arrival now; undefined when nothing of it is queued any more. */
  readonly arrivedAt: number | undefined;
}

export class Lane implements Aged {
  readonly removal: EntryRemoval;
  readonly share: Share;
  readonly group: Group;
  readonly tenant: Tenant;
  readonly priorityClass: PriorityClass;
  /** How much earlier than it did an item counts as arrived, for its priority. */
  readonly headStartMs: number;

  head: Entry | undefined = undefined;
  tail: Entry | undefined = undefined;
  /** Decides between lanes of equal rank: grows each time that a lane becomes non-empty. */
  order = 0;
  heapIndex = -1;
  sortedAt = 0;

  constructor(removal: EntryRemoval, share: Share, priorityClass: PriorityClass, headStartMs: number) {
    this.removal = removal;
    this.share = share;
    this.group = share.group;
    this.tenant = share.tenant;
    this.priorityClass = priorityClass;
    this.headStartMs = headStartMs;
  }

  get arrivedAt(): number | undefined {
    return this.head?.moment.at;
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

  /** Into a lane that is not empty. */
  prepend(entry: Entry): void {
    const head = this.head as Entry;
    entry.lane = this;
    head.previous = entry;
    entry.next = head;
    this.head = entry;
    this.addToSums(1, entry.cost);
  }

  /** Unlinks the head; returns the entry behind it, to be given to `beginWith`. */
  behead(head: Entry): Entry | undefined {
    const { next } = head;
    head.next = undefined;
    head.previous = undefined;
    return next;
  }

  /** Makes an entry the head; those before it have been unlinked. */
  beginWith(head: Entry | undefined): void {
    this.head = head;
    if (head === undefined) this.tail = undefined;
    else head.previous = undefined;
  }

  unlink(entry: Entry): void {
    const { previous, next } = entry;
    if (previous === undefined) this.head = next;
    else previous.next = next;
    if (next === undefined) this.tail = previous;
    else next.previous = previous;
    // A removed entry that still pointed into the list would keep its old neighbours alive.
    entry.previous = undefined;
    entry.next = undefined;
  }

  /** Adds to all the sums that its entries belong to. */
  addToSums(items: number, cost: number): void {
    const { group, tenant, priorityClass } = this;
    group.length += items;
    group.cost += cost;
    priorityClass.cost += cost;
    tenant.queuedItems += items;
    tenant.queuedCost += cost;
  }
}

/** An entry that arrived before entries ahead of it in its lane, because it had been queued elsewhere. */
export class OlderEntry implements Aged {
  readonly #entry: Entry;
  heapIndex = -1;
  sortedAt: number;

  constructor(entry: Entry) {
    this.#entry = entry;
    this.sortedAt = entry.moment.at;
  }

  get arrivedAt(): number | undefined {
    return this.#entry.lane === undefined ? undefined : this.sortedAt;
  }
}
