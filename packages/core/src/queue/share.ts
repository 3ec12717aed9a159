/** What one tenant has waiting in one group: a lane for each priority. */
import type { Entry, EntryRemoval } from './entry.js';
import type { Group } from './group.js';
import { Heap, type HeapNode } from './heap.js';
import { Lane, type PriorityClass } from './lane.js';
import type { Tenant } from './tenants.js';

export class Share implements HeapNode {
  readonly group: Group;
  readonly tenant: Tenant;
  /** Its place among its tenant's shares. */
  readonly claim = new Claim(this);
  /** Its place among its group's shares, and the account of its tenant when it was put there. */
  heapIndex = -1;
  keyServed = 0;
  /** Decides between shares that are otherwise equal: grows with each time that an empty one begins anew. */
  order = 0;

  readonly #lanes: Lane[] = [];
  readonly #waiting = new Heap<Lane>((a, b) =>
    a.keyRank === b.keyRank ? a.order < b.order : a.keyRank < b.keyRank,
  );

  constructor(group: Group, tenant: Tenant) {
    this.group = group;
    this.tenant = tenant;
  }

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  /** True when its items leave in the order in which they came, with no other priority in between. */
  get isSingle(): boolean {
    return this.#waiting.size === 1;
  }

  /** The lane that is next in line. */
  get firstLane(): Lane | undefined {
    const waiting = this.#waiting;
    let lane = waiting.first;
    while (lane !== undefined && waiting.size > 1 && lane.keyRank !== lane.rank) {
      lane.keyRank = lane.rank;
      waiting.update(lane);
      lane = waiting.first;
    }
    return lane;
  }

  get rank(): number {
    return this.firstLane?.rank ?? Number.POSITIVE_INFINITY;
  }

  lane(removal: EntryRemoval, priorityClass: PriorityClass, priorityAgeMs: number): Lane {
    let lane = this.#lanes.find((known) => known.priorityClass === priorityClass);
    if (lane === undefined) {
      lane = new Lane(removal, this, priorityClass, priorityClass.priority * priorityAgeMs);
      this.#lanes.push(lane);
    }
    return lane;
  }

  /** A lane that was empty has an entry. */
  open(lane: Lane): void {
    lane.keyRank = lane.rank;
    this.#waiting.push(lane);
  }

  /** A lane has become empty. */
  close(lane: Lane): void {
    this.#waiting.remove(lane);
  }

  /** Puts all lanes in their places after entries have been put back. */
  reorder(): void {
    for (const lane of this.#waiting) lane.keyRank = lane.rank;
    this.#waiting.rebuild();
  }

  collect(entries: Entry[]): void {
    for (const lane of this.#waiting) {
      for (let entry = lane.head; entry !== undefined; entry = entry.next) entries.push(entry);
    }
  }
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
