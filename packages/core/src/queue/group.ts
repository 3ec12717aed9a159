/** Items that may share a batch, in the order in which they will leave. */
import { Age } from './age.js';
import type { Entry } from './entry.js';
import { Heap, type HeapNode } from './heap.js';
import type { Lane } from './lane.js';
import { Share } from './share.js';
import type { Tenant, Tenants } from './tenants.js';

/** Until when a group that is awake has asked to be left alone. */
export const AWAKE = Number.NEGATIVE_INFINITY;

/** From how many tenants on a group looks for those it can forget. */
const FIRST_SWEEP = 1024;

export class Group implements HeapNode {
  readonly key: unknown;
  length = 0;
  cost = 0;
  /** Until when its policy has asked to be left alone. */
  wakeAt = AWAKE;
  /** What came until then leaves without being held. */
  #flushedAt = Number.NEGATIVE_INFINITY;
  /** Its place among the sleeping. */
  heapIndex = -1;

  readonly #tenants: Tenants;
  readonly #shares = new Map<Tenant, Share>();
  /**
   * Shares that are not empty; the one whose tenant has had the least is first. While it is in line, what
   * a tenant has had only grows, so a place that is out of date is found when the share comes up, not before it matters.
   */
  readonly #waiting = new Heap<Share>((a, b) =>
    a.keyServed === b.keyServed ? a.order < b.order : a.keyServed < b.keyServed,
  );
  /** Shares that were passed over while the group slept. */
  #parked: Share[] = [];
  /** Of its lanes' heads, and of those who came older than others before them. */
  readonly #ages = new Heap<Age>((a, b) => a.at < b.at);
  #sweepAt = FIRST_SWEEP;

  constructor(key: unknown, tenants: Tenants) {
    this.key = key;
    this.#tenants = tenants;
  }

  /** When the item that has waited longest came. */
  get oldestAt(): number {
    const ages = this.#ages;
    for (let age = ages.first; age !== undefined; age = ages.first) {
      const { at } = age;
      if (!age.look()) ages.remove(age);
      else if (age.at !== at) ages.update(age);
      else return at;
    }
    return Number.POSITIVE_INFINITY;
  }

  /** One has come who may have waited longer, elsewhere, than those who were here before it. */
  hasOlder(entry: Entry): void {
    if (entry.lane?.head !== entry) this.#ages.push(new Age(undefined, entry));
  }

  /** Its policy has asked to be left alone until a certain time. */
  get isHeld(): boolean {
    return this.wakeAt !== AWAKE && this.wakeAt !== Number.POSITIVE_INFINITY;
  }

  /** Lets what waits now leave without being held. */
  flush(now: number): void {
    if (this.length > 0) this.#flushedAt = now;
  }

  /** Nobody is left for whom that was meant. */
  unflush(): void {
    this.#flushedAt = Number.NEGATIVE_INFINITY;
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
    this.#tenants.arrive(lane);
    lane.append(entry);
    this.#open(lane);
    this.#tenants.reorder(lane.share);
  }

  /**
   * Takes up to `count` entries in order, at their tenants' charge, as long as their cost together stays
   * within `maxCost`; returns that cost.
   */
  take(count: number, maxCost: number, taken: Entry[]): number {
    let cost = 0;
    this.#tenants.begin();
    for (let before = -1; taken.length < count && taken.length > before; ) {
      before = taken.length;
      const share = this.#firstShare;
      const lane = share?.firstLane;
      if (share === undefined || lane === undefined) break;
      // A lane that is alone has no one to take turns with.
      const isAlone = this.#waiting.size === 1 && share.isSingle;
      cost += this.#takeRun(lane, isAlone ? count : before + 1, maxCost - cost, taken);
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
        this.#open(lane);
      }
    }
    this.#rekey(looked);
  }

  /** The entries at these positions. */
  entriesAt(positions: readonly number[]): Entry[] {
    const looked: Entry[] = [];
    this.look(
      positions.reduce((most, position) => Math.max(most, position + 1), 0),
      looked,
    );
    this.putBack(looked);
    return positions.flatMap((position) => looked[position] ?? []);
  }

  /** Takes up to `count` entries in order, at nobody's charge. */
  takeUncharged(count: number): Entry[] {
    const taken: Entry[] = [];
    this.#tenants.remember();
    this.take(count, Number.POSITIVE_INFINITY, taken);
    this.#tenants.restore();
    this.#rekey(taken);
    return taken;
  }

  /** Keys of the shares these come from have grown when they were taken, and are small again. */
  #rekey(entries: readonly Entry[]): void {
    for (const { lane } of entries) {
      if (lane === undefined || lane.age.heapIndex === -1) continue;
      lane.age.look();
      this.#ages.update(lane.age);
    }
    for (const share of new Set(entries.map((entry) => (entry.lane as Lane).share))) {
      if (share.isEmpty) continue;
      share.reorder();
      this.#tenants.reorder(share);
      this.reorder(share);
    }
  }

  remove(entry: Entry, lane: Lane): void {
    lane.remove(entry);
    this.#left(lane, 1, entry.cost);
  }

  /** Puts a share in its place after its tenant's account has changed. */
  reorder(share: Share): void {
    share.keyServed = share.tenant.served;
    this.#waiting.update(share);
  }

  /** Takes a share out of line until the group wakes. */
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
    for (const share of this.#waiting) share.collect(entries);
    return entries;
  }

  get #firstShare(): Share | undefined {
    const waiting = this.#waiting;
    let share = waiting.first;
    while (share !== undefined && waiting.size > 1 && share.keyServed !== share.tenant.served) {
      this.reorder(share);
      share = waiting.first;
    }
    return share;
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

  /** A lane that was empty has an entry. */
  #open(lane: Lane): void {
    const { share } = lane;
    const isNew = share.isEmpty;
    share.open(lane);
    lane.age.look();
    this.#ages.push(lane.age);
    if (!isNew) return;
    share.tenant.groups += 1;
    share.keyServed = share.tenant.served;
    this.#waiting.push(share);
    this.#tenants.claim(share);
  }

  #left(lane: Lane, items: number, cost: number): void {
    const { priorityClass } = lane;
    lane.addToSums(-items, -cost);
    // Sums of fractions do not come back to nought by themselves.
    if (this.length === 0) this.cost = 0;
    this.#tenants.leave(lane.tenant);
    if (priorityClass.items === 0) priorityClass.cost = 0;
    if (lane.head !== undefined) return;
    const { share } = lane;
    share.close(lane);
    this.#ages.remove(lane.age);
    if (!share.isEmpty) return;
    share.tenant.groups -= 1;
    this.#waiting.remove(share);
    this.#tenants.release(share);
  }

  /** Forgets the shares of tenants who have nothing here. */
  #sweep(): void {
    for (const [tenant, share] of this.#shares) if (share.isEmpty) this.#shares.delete(tenant);
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#shares.size);
  }
}
