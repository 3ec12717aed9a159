/** Items that may share a batch. */
import { DispatchOrder } from './dispatch-order.js';
import type { Entry } from './entry.js';
import { Heap, type HeapNode } from './heap.js';
import { type Aged, type Lane, OlderEntry } from './lane.js';
import { Share } from './share.js';
import type { Tenant, Tenants } from './tenants.js';

/** `wakeAt` of a group that is awake. */
export const AWAKE = Number.NEGATIVE_INFINITY;

/** Shares without items are forgotten in sweeps, when there are twice as many as after the last one. */
const FIRST_SWEEP = 1024;

/** Items that were taken, and their cost. */
export interface Taken {
  readonly entries: readonly Entry[];
  readonly cost: number;
}

export class Group implements HeapNode {
  readonly key: unknown;
  length = 0;
  cost = 0;
  /** Items that arrived since the arrivals were last recorded. */
  arrived = 0;
  /** Until when the policy holds it. */
  wakeAt = AWAKE;
  /** What arrived until then is dispatched without being held. */
  #flushedAt = Number.NEGATIVE_INFINITY;
  /** Its place among the sleeping. */
  heapIndex = -1;

  readonly #tenants: Tenants;
  readonly #shares = new Map<Tenant, Share>();
  /**
   * Shares with items, by what their tenants had been served when they were sorted. While items are queued
   * that only grows, so an outdated key is too low, and is noticed when it comes up first.
   */
  readonly #waiting = new Heap<Share>((a, b) =>
    a.sortedServed === b.sortedServed ? a.order < b.order : a.sortedServed < b.sortedServed,
  );
  /** Shares that came up while the group slept. */
  #parked: Share[] = [];
  /** Lanes by the arrival of their heads, and entries that are older than those ahead of them. */
  readonly #ages = new Heap<Aged>((a, b) => a.sortedAt < b.sortedAt);
  #sweepAt = FIRST_SWEEP;

  constructor(key: unknown, tenants: Tenants) {
    this.key = key;
    this.#tenants = tenants;
  }

  /** The earliest arrival; Infinity when nothing is queued. */
  get oldestAt(): number {
    const ages = this.#ages;
    for (let first = ages.first; first !== undefined; first = ages.first) {
      const { arrivedAt } = first;
      if (arrivedAt === first.sortedAt) return arrivedAt;
      if (arrivedAt === undefined) ages.remove(first);
      else {
        first.sortedAt = arrivedAt;
        ages.update(first);
      }
    }
    return Number.POSITIVE_INFINITY;
  }

  /** To be called for an entry that had been queued elsewhere, and may be older than those ahead of it. */
  hasOlder(entry: Entry): void {
    if (entry.lane?.head !== entry) this.#ages.push(new OlderEntry(entry));
  }

  /** The policy holds it until a certain time. */
  get isHeld(): boolean {
    return this.wakeAt !== AWAKE && this.wakeAt !== Number.POSITIVE_INFINITY;
  }

  /** What is queued now is dispatched without being held. */
  flush(now: number): void {
    if (this.length > 0) this.#flushedAt = now;
  }

  get isFlushed(): boolean {
    if (this.#flushedAt === Number.NEGATIVE_INFINITY) return false;
    if (this.oldestAt > this.#flushedAt) this.#flushedAt = Number.NEGATIVE_INFINITY;
    return this.#flushedAt !== Number.NEGATIVE_INFINITY;
  }

  share(tenant: Tenant): Share {
    let share = this.#shares.get(tenant);
    if (share === undefined) {
      if (this.#shares.size >= this.#sweepAt) this.#sweep();
      share = new Share(this, tenant);
      this.#shares.set(tenant, share);
    }
    return share;
  }

  /** Puts an entry into a lane that was empty. */
  begin(lane: Lane, entry: Entry): void {
    const { share, tenant } = lane;
    this.#tenants.arrive(lane);
    lane.append(entry);
    lane.sortedAt = entry.moment.at;
    this.#ages.push(lane);
    share.waiting.push(lane);
    if (share.waiting.length === 1) {
      tenant.groups += 1;
      share.sortedServed = tenant.served;
      this.#waiting.push(share);
      this.#tenants.claim(share);
    } else this.#tenants.reorder(share);
  }

  /** The order in which its items are dispatched. Valid until the queue changes. */
  order(): DispatchOrder {
    return new DispatchOrder(this.#waiting);
  }

  /** Takes up to `count` items in order, as long as their cost together is within `maxCost`, and charges their tenants. */
  take(count: number, maxCost: number): Taken {
    const lanes = this.#waiting.size === 1 ? this.#waiting.first?.waiting : undefined;
    const lane = lanes?.length === 1 ? lanes[0] : undefined;
    this.#tenants.begin();
    const taken =
      lane === undefined ? this.#takeInTurn(count, maxCost) : this.#takeFrom(lane, count, maxCost);
    this.#tenants.end();
    return taken;
  }

  /** The usual case of a single lane, with all bookkeeping done once. */
  #takeFrom(lane: Lane, count: number, maxCost: number): Taken {
    const entries: Entry[] = [];
    let cost = 0;
    let lastCost = 0;
    let entry = lane.head;
    while (entry !== undefined && entries.length < count && cost + entry.cost <= maxCost) {
      entries.push(entry);
      lastCost = entry.cost;
      cost += lastCost;
      entry = lane.behead(entry);
    }
    if (entries.length === 0) return { entries, cost };
    lane.beginWith(entry);
    this.#tenants.charge(lane.tenant, cost, lastCost);
    this.#shrink(lane, entries.length, cost);
    return { entries, cost };
  }

  #takeInTurn(count: number, maxCost: number): Taken {
    const order = this.order().read(count, maxCost);
    for (const entry of order.entries) {
      const lane = entry.lane as Lane;
      lane.beginWith(lane.behead(entry));
      this.#tenants.charge(lane.tenant, entry.cost, entry.cost);
      this.#shrink(lane, 1, entry.cost);
    }
    for (const share of order.passed) if (!share.isEmpty) this.reorder(share);
    return order;
  }

  /** Puts an entry that was taken back at the head of its lane. */
  restore(lane: Lane, entry: Entry): void {
    if (lane.head === undefined) {
      this.begin(lane, entry);
      return;
    }
    lane.prepend(entry);
    lane.sortedAt = entry.moment.at;
    this.#ages.update(lane);
    this.#tenants.reorder(lane.share);
    this.reorder(lane.share);
  }

  remove(entry: Entry, lane: Lane): void {
    lane.unlink(entry);
    this.#shrink(lane, 1, entry.cost);
  }

  /** Puts a share in its place after its tenant has been served, or has another weight. */
  reorder(share: Share): void {
    share.sortedServed = share.tenant.served;
    this.#waiting.update(share);
  }

  /** Takes a share out of its tenant's order until the group wakes. */
  park(share: Share): void {
    this.#tenants.release(share);
    this.#parked.push(share);
  }

  wake(): void {
    this.wakeAt = AWAKE;
    if (this.#parked.length === 0) return;
    const parked = this.#parked;
    this.#parked = [];
    for (const share of parked) {
      if (share.isEmpty) continue;
      this.reorder(share);
      this.#tenants.claim(share);
    }
  }

  entries(): Entry[] {
    const entries: Entry[] = [];
    for (const { waiting } of this.#waiting) {
      for (const { head } of waiting) {
        for (let entry = head; entry !== undefined; entry = entry.next) entries.push(entry);
      }
    }
    return entries;
  }

  /** Items have been removed from a lane. */
  #shrink(lane: Lane, items: number, cost: number): void {
    const { share, tenant } = lane;
    lane.addToSums(-items, -cost);
    if (this.length === 0) {
      this.cost = 0; // sums of fractions do not come back to 0 by themselves
      this.#flushedAt = Number.NEGATIVE_INFINITY;
    }
    if (tenant.queuedItems === 0) this.#tenants.leave(tenant);
    if (lane.head !== undefined) return;
    share.waiting.splice(share.waiting.indexOf(lane), 1);
    this.#ages.remove(lane);
    if (!share.isEmpty) return;
    tenant.groups -= 1;
    this.#waiting.remove(share);
    this.#tenants.release(share);
  }

  /** Forgets empty shares. */
  #sweep(): void {
    for (const [tenant, share] of this.#shares) if (share.isEmpty) this.#shares.delete(tenant);
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#shares.size);
  }
}
