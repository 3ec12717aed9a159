/** The queued items of one tenant in one group: a lane for each priority. */
import type { Entry, EntryRemoval } from './entry.js';
import type { Group } from './group.js';
import type { HeapNode } from './heap.js';
import { Lane, type PriorityClass } from './lane.js';
import type { Tenant } from './tenants.js';

export class Share implements HeapNode {
  readonly group: Group;
  readonly tenant: Tenant;
  /** Lanes with items. There are at most as many as priorities, so a scan is enough to find the first. */
  readonly waiting: Lane[] = [];
  /** Its place among the shares of its tenant. */
  readonly claim = new Claim(this);
  /** Its place among the shares of its group, and what its tenant had been served when it was put there. */
  heapIndex = -1;
  sortedServed = 0;
  /** Decides between shares that are otherwise equal: grows each time that a share becomes non-empty. */
  order = 0;

  readonly #lanes: Lane[] = [];

  constructor(group: Group, tenant: Tenant) {
    this.group = group;
    this.tenant = tenant;
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  /** The rank of its first item. */
  get rank(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { head, headStartMs } of this.waiting)
      if (head) first = Math.min(first, rankOf(head, headStartMs));
    return first;
  }

  lane(removal: EntryRemoval, priorityClass: PriorityClass, priorityAgeMs: number): Lane {
    let lane = this.#lanes.find((known) => known.priorityClass === priorityClass);
    if (lane === undefined) {
      lane = new Lane(removal, this, priorityClass, priorityClass.priority * priorityAgeMs);
      this.#lanes.push(lane);
    }
    return lane;
  }
}

/** When an item would have arrived had all priorities been equal. It never changes: that is how priorities age. */
export function rankOf(entry: Entry, headStartMs: number): number {
  return entry.moment.at - headStartMs;
}

/** A share's place among those of its tenant, and its rank when it was put there. */
export class Claim implements HeapNode {
  readonly share: Share;
  heapIndex = -1;
  rank = 0;

  constructor(share: Share) {
    this.share = share;
  }
}
