/**
 * Fair queueing among tenants. A tenant's `served` is what its items have cost so far, divided by its weight. Of the
 * tenants with items, the one that has been served least is next, so that they share by weight. A tenant that comes back
 * after a pause starts level with the others: absence earns no credit.
 */
import { Heap, type HeapNode } from './heap.js';
import type { Lane } from './lane.js';
import type { Claim, Share } from './share.js';

export class Tenant implements HeapNode {
  readonly id: string | undefined;
  weight = 1;
  served = 0;
  /** `served` when it was sorted. While it has items it only grows, so it is brought up to date when it comes up first. */
  sortedServed = 0;
  /** It has had no item yet. */
  isNew = true;
  queuedItems = 0;
  queuedCost = 0;
  /** In how many groups it has items. */
  groups = 0;
  /** Its shares of all groups that are awake, by rank. */
  readonly claims = new Heap<Claim>((a, b) =>
    a.rank === b.rank ? a.share.order < b.share.order : a.rank < b.rank,
  );

  heapIndex = -1;
  order = 0;

  constructor(id: string | undefined) {
    this.id = id;
  }
}

/** Above this level, the charge for the cheapest item of the heaviest tenant would be lost in rounding. */
const HIGHEST_LEVEL = 2 ** 24;
/** Tenants without items are forgotten in sweeps, when there are twice as many as after the last one. */
const FIRST_SWEEP = 1024;
/** From this number on, the weights of tenants without items are forgotten too. */
const MOST_REMEMBERED = 65_536;
/** How many other tenants are counted one by one to find the work ahead of a new item. */
const MOST_COUNTED = 64;

export class Tenants {
  /** The tenant of all items that name none. */
  readonly unnamed = new Tenant(undefined);
  readonly #named = new Map<string, Tenant>();
  /** Those with claims. */
  readonly #waiting = new Heap<Tenant>((a, b) =>
    a.sortedServed === b.sortedServed ? a.order < b.order : a.sortedServed < b.sortedServed,
  );
  /** `served` of the latest tenant before its latest item. */
  #level = 0;
  /**
   * The virtual time of fair queueing: `served` of a tenant that had always had its equal part; at most the highest
   * `served`. A new tenant starts there. If it started at the level, tenants that are new with every item would never
   * raise the level, and no other tenant would be served.
   */
  #time = 0;
  #newLevel = 0;
  #highest = 0;
  /** The weight of the tenants with items when the latest batch was begun. */
  #sharedBy = 1;
  #waitingWeight = 0;
  #order = 0;
  #sweepAt = FIRST_SWEEP;

  /** How many are remembered. */
  get size(): number {
    return this.#named.size;
  }

  find(id: string | undefined, weight: number | undefined): Tenant {
    const tenant = id === undefined ? this.unnamed : (this.#named.get(id) ?? this.#add(id));
    if (weight !== undefined && weight !== tenant.weight) this.#reweigh(tenant, weight);
    return tenant;
  }

  /** The share of the next item. */
  get firstShare(): Share | undefined {
    const waiting = this.#waiting;
    let tenant = waiting.first;
    while (tenant !== undefined && waiting.size > 1 && tenant.sortedServed !== tenant.served) {
      this.#sort(tenant);
      tenant = waiting.first;
    }
    if (tenant === undefined) return undefined;
    const { claims } = tenant;
    let claim = claims.first;
    while (claim !== undefined && claims.size > 1 && claim.rank !== claim.share.rank) {
      claim.rank = claim.share.rank;
      claims.update(claim);
      claim = claims.first;
    }
    return claim?.share;
  }

  /** To be called before an item is put into a lane that was empty. */
  arrive(lane: Lane): void {
    const { tenant, share } = lane;
    lane.order = this.#order++;
    if (share.isEmpty) share.order = lane.order;
    if (tenant.queuedItems > 0) return;
    tenant.order = lane.order;
    this.#waitingWeight += tenant.weight;
    const start = tenant.isNew ? Math.max(this.#newLevel, this.#level) : this.#level;
    tenant.isNew = false;
    if (tenant.served < start) tenant.served = start;
  }

  /** To be called when a tenant has nothing queued any more. */
  leave(tenant: Tenant): void {
    tenant.queuedCost = 0; // sums of fractions do not come back to 0 by themselves
    this.#waitingWeight -= tenant.weight;
  }

  /** Lets a share have its turn. */
  claim({ claim, rank, tenant }: Share): void {
    if (claim.heapIndex !== -1) return;
    claim.rank = rank;
    tenant.claims.push(claim);
    if (tenant.heapIndex !== -1) return;
    tenant.sortedServed = tenant.served;
    this.#waiting.push(tenant);
  }

  /** To be called when the first item of a share has become an earlier one. */
  reorder({ claim, rank, tenant }: Share): void {
    if (claim.heapIndex === -1 || claim.rank === rank) return;
    claim.rank = rank;
    tenant.claims.update(claim);
  }

  /** A share has no turn until it is claimed again. */
  release({ claim, tenant }: Share): void {
    if (claim.heapIndex === -1) return;
    tenant.claims.remove(claim);
    if (tenant.claims.size === 0) this.#waiting.remove(tenant);
  }

  /** To be called before the items of a batch are charged. */
  begin(): void {
    this.#sharedBy = this.#waitingWeight;
  }

  /** To be called after the items of a batch have been charged. */
  end(): void {
    if (this.#level > HIGHEST_LEVEL) this.#lowerAll();
  }

  /** `lastCost` is that of the last item. */
  charge(tenant: Tenant, cost: number, lastCost: number): void {
    this.#time = Math.max(this.#time, tenant.served);
    this.surcharge(tenant, cost);
    this.#level = tenant.served - lastCost / tenant.weight;
    this.#newLevel = this.#time - lastCost / this.#sharedBy;
  }

  /** Charges a tenant for more than its items cost; the level stays. */
  surcharge(tenant: Tenant, cost: number): void {
    tenant.served += cost / tenant.weight;
    this.#highest = Math.max(this.#highest, tenant.served);
    this.#time = Math.min(this.#time + cost / this.#sharedBy, this.#highest);
  }

  /** Takes back the charge for an item that was not served. */
  refund(tenant: Tenant, cost: number): void {
    tenant.served -= cost / tenant.weight;
    if (tenant.heapIndex !== -1) this.#sort(tenant);
    for (const { share } of tenant.claims) share.group.reorder(share);
  }

  /** Only differences count: lowers all accounts, so that small charges are not lost in rounding. */
  #lowerAll(): void {
    const level = this.#level;
    this.#level = 0;
    this.#newLevel -= level;
    this.#time -= level;
    this.#highest -= level;
    for (const tenant of [this.unnamed, ...this.#named.values()]) {
      tenant.served = Math.max(0, tenant.served - level);
      tenant.sortedServed = tenant.served;
    }
    this.#waiting.rebuild();
    for (const tenant of this.#waiting) for (const { share } of tenant.claims) share.group.reorder(share);
  }

  /** The part of the queue that a tenant may fill, by weight: all of it only if no other tenant is known. */
  shareOf(tenant: Tenant): number {
    const isUnnamedKnown = this.unnamed.served > 0 || this.unnamed.queuedItems > 0;
    if (this.#named.size + (isUnnamedKnown ? 1 : 0) === 1) return 1;
    // Another tenant may have items at any moment.
    return tenant.weight / Math.max(this.#waitingWeight, tenant.weight + 1);
  }

  /** The cost of other tenants that is served until this one has been served `cost`: of each as much for its weight, and no more than it has queued. */
  othersServedUntil(tenant: Tenant, cost: number): number {
    return this.#sumOfOthers(tenant, (other) =>
      Math.min(other.queuedCost, (cost * other.weight) / tenant.weight),
    );
  }

  /** How many groups are served before a new one of this tenant: the tenants take turns. */
  groupsServedUntil(tenant: Tenant): number {
    const turns = (other: Tenant) => Math.ceil(((tenant.groups + 1) * other.weight) / tenant.weight);
    return tenant.groups + this.#sumOfOthers(tenant, (other) => Math.min(other.groups, turns(other)));
  }

  /** Over the other tenants that have their turn. Of very many, some are counted and stand for all. */
  #sumOfOthers(tenant: Tenant, part: (other: Tenant) => number): number {
    let counted = 0;
    let sum = 0;
    for (const other of this.#waiting) {
      if (other === tenant) continue;
      if (counted === MOST_COUNTED) break;
      counted += 1;
      sum += part(other);
    }
    const others = this.#waiting.size - (tenant.heapIndex === -1 ? 0 : 1);
    return counted < others ? (sum * others) / counted : sum;
  }

  #sort(tenant: Tenant): void {
    tenant.sortedServed = tenant.served;
    this.#waiting.update(tenant);
  }

  /** What a tenant has been served ahead of the others was charged by its old weight. */
  #reweigh(tenant: Tenant, weight: number): void {
    if (tenant.queuedItems > 0) this.#waitingWeight += weight - tenant.weight;
    const debt = Math.max(0, tenant.served - this.#level) * tenant.weight;
    tenant.weight = weight;
    tenant.served = this.#level + debt / weight;
    if (tenant.heapIndex !== -1) this.#sort(tenant);
    for (const { share } of tenant.claims) share.group.reorder(share);
  }

  #add(id: string): Tenant {
    if (this.#named.size >= this.#sweepAt) this.#sweep();
    const tenant = new Tenant(id);
    this.#named.set(id, tenant);
    return tenant;
  }

  /** Forgets tenants without items: at most they have been served one item more. Given weights are kept, up to a limit. */
  #sweep(): void {
    for (const [id, { queuedItems, weight }] of this.#named) {
      if (queuedItems > 0) continue;
      if (weight === 1 || this.#named.size > MOST_REMEMBERED) this.#named.delete(id);
    }
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#named.size);
  }
}
