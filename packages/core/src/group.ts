/** Items that may share a batch, in the order in which they will leave. */
import type { Entry, EntryOwner } from './entry.js';
import { Heap, type HeapNode } from './heap.js';
import { Lane, type PriorityClass } from './lane.js';
import type { Tenant, Tenants } from './tenants.js';

/** Until when a group that is awake has asked to be left alone. */
export const AWAKE = Number.NEGATIVE_INFINITY;

export class Group implements HeapNode {
  readonly key: unknown;
  length = 0;
  cost = 0;
  /** Until when its policy has asked to be left alone. */
  wakeAt = AWAKE;
  /** Its place among the sleeping. */
  heapIndex = -1;

  readonly #tenants: Tenants;
  /** Lanes that are not empty: whose tenant has had the least; then whose head came first. */
  readonly #lanes = new Heap<Lane>((a, b) => {
    if (a.keyServed !== b.keyServed) return a.keyServed < b.keyServed;
    return a.keyRank === b.keyRank ? a.order < b.order : a.keyRank < b.keyRank;
  });
  readonly #lanesOf = new Map<Tenant, Lane>();
  /** Lanes that were passed over while the group slept. */
  #parked: Lane[] = [];
  #oldest: Entry | undefined = undefined;
  #sweepAt = FIRST_SWEEP;

  constructor(key: unknown, tenants: Tenants) {
    this.key = key;
    this.#tenants = tenants;
  }

  /** When the item that has waited longest came. */
  get oldestAt(): number {
    const known = this.#oldest;
    if (known?.lane?.group === this) return known.moment.at;
    let oldest: Entry | undefined;
    for (const { head } of this.#lanes) {
      if (head !== undefined && (oldest === undefined || head.moment.at < oldest.moment.at)) oldest = head;
    }
    this.#oldest = oldest;
    return oldest?.moment.at ?? Number.POSITIVE_INFINITY;
  }

  findLane(tenant: Tenant, priority: number): Lane | undefined {
    let lane = this.#lanesOf.get(tenant);
    while (lane !== undefined && lane.priorityClass.priority !== priority) lane = lane.sibling;
    return lane;
  }

  addLane(owner: EntryOwner, tenant: Tenant, priorityClass: PriorityClass, headStartMs: number): Lane {
    if (this.#lanesOf.size >= this.#sweepAt) this.#sweep();
    const lane = new Lane(owner, this, tenant, priorityClass, headStartMs, this.#lanesOf.get(tenant));
    this.#lanesOf.set(tenant, lane);
    return lane;
  }

  /** Puts an entry into a lane that was empty. */
  begin(lane: Lane, entry: Entry): void {
    this.#tenants.arrive(lane);
    lane.append(entry);
    this.#putInLine(lane);
  }

  /**
   * Takes up to `count` entries in order, at their tenants' charge, as long as their cost together stays
   * within `maxCost`; returns that cost.
   */
  take(count: number, maxCost: number, taken: Entry[]): number {
    let cost = 0;
    for (let before = -1; taken.length < count && taken.length > before; ) {
      before = taken.length;
      const lane = this.#firstLane;
      if (lane === undefined) break;
      // A lane that is alone has no one to take turns with.
      const run = this.#lanes.size === 1 ? count : before + 1;
      cost += this.#takeRun(lane, run, maxCost - cost, taken);
    }
    return cost;
  }

  /** Takes entries in order to look at them, as far as position `count`. */
  look(count: number, looked: Entry[]): void {
    if (looked.length === 0) this.#tenants.remember();
    this.take(count, Number.POSITIVE_INFINITY, looked);
  }

  /** Puts back what was taken to be looked at: everything is as it was. */
  putBack(looked: readonly Entry[]): void {
    this.#tenants.restore();
    for (let i = looked.length - 1; i >= 0; i--) {
      const entry = looked[i] as Entry;
      const lane = entry.lane as Lane;
      if (lane.head !== undefined) lane.prepend(entry);
      else {
        this.#tenants.comeBack(lane.tenant);
        lane.append(entry);
        this.#putInLine(lane);
      }
    }
    // Their keys have grown while entries were out, and are small again.
    for (const lane of this.#lanes) {
      lane.refreshKey();
      this.#tenants.reorder(lane);
    }
    this.#lanes.rebuild();
  }

  remove(entry: Entry, lane: Lane): void {
    lane.remove(entry);
    this.#left(lane, 1, entry.cost);
  }

  /** Puts a lane in its place after its tenant's account has changed. */
  reorder(lane: Lane): void {
    lane.refreshKey();
    this.#lanes.update(lane);
  }

  /** Takes a lane out of line until the group wakes. */
  park(lane: Lane): void {
    this.#tenants.release(lane);
    this.#parked.push(lane);
  }

  wake(): void {
    this.wakeAt = AWAKE;
    if (this.#parked.length === 0) return;
    const parked = this.#parked;
    this.#parked = [];
    for (const lane of parked) {
      if (lane.head === undefined) continue;
      this.reorder(lane);
      this.#tenants.claim(lane);
    }
  }

  entries(): Entry[] {
    const entries: Entry[] = [];
    for (const lane of this.#lanes) {
      for (let entry = lane.head; entry !== undefined; entry = entry.next) entries.push(entry);
    }
    return entries;
  }

  #putInLine(lane: Lane): void {
    lane.refreshKey();
    this.#lanes.push(lane);
    this.#tenants.claim(lane);
  }

  get #firstLane(): Lane | undefined {
    const lanes = this.#lanes;
    let lane = lanes.first;
    while (lane !== undefined && lanes.size > 1 && !lane.keyIsCurrent) {
      this.reorder(lane);
      lane = lanes.first;
    }
    return lane;
  }

  /** Takes from one lane until `taken` has `count`, all bookkeeping done once. */
  #takeRun(lane: Lane, count: number, maxCost: number, taken: Entry[]): number {
    const before = taken.length;
    let cost = 0;
    let lastCost = 0;
    let entry = lane.head;
    while (entry !== undefined && taken.length < count && cost + entry.cost <= maxCost) {
      taken.push(entry);
      lastCost = entry.cost;
      cost += lastCost;
      entry = lane.behead(entry);
    }
    if (taken.length === before) return 0;
    lane.beginWith(entry);
    this.#left(lane, taken.length - before, cost);
    this.#tenants.charge(lane.tenant, cost, lastCost);
    return cost;
  }

  #left(lane: Lane, items: number, cost: number): void {
    lane.count(-items, -cost);
    if (this.length === 0) this.cost = 0; // sums of fractions do not come back to nought by themselves
    this.#tenants.leave(lane.tenant);
    if (lane.head !== undefined) return;
    this.#lanes.remove(lane);
    this.#tenants.release(lane);
  }

  /** Forgets the lanes of tenants who have nothing here. */
  #sweep(): void {
    for (const [tenant, firstLane] of this.#lanesOf) {
      let lane: Lane | undefined = firstLane;
      while (lane !== undefined && lane.head === undefined) lane = lane.sibling;
      if (lane === undefined) this.#lanesOf.delete(tenant);
    }
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#lanesOf.size);
  }
}

/** From how many tenants on a group looks for those it can forget. */
const FIRST_SWEEP = 1024;
