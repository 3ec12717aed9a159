/**
 * Whose turn it is. A tenant's `served` is what its items have cost so far, divided by its weight; of
 * those who have something waiting, the tenant with the least goes next, so they share by weight.
 * Whoever comes back after a pause starts level with the rest: absence earns no credit.
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
  /** Nothing of it has come yet. */
  isNew = true;
  /** What waits. */
  queuedItems = 0;
  queuedCost = 0;
  /** In how many groups. */
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

/** From here on, what the cheapest item of the heaviest tenant adds would be lost in rounding. */
const HIGHEST_LEVEL = 2 ** 24;
/** Tenants who have nothing waiting are forgotten in sweeps, when there are twice as many as after the last one. */
const FIRST_SWEEP = 1024;
/** From how many on also the weights of those who have nothing waiting are forgotten. */
const MOST_REMEMBERED = 65_536;
/** At how many others it is looked to tell what goes before a newcomer. */
const MOST_LOOKED_AT = 64;

export class Tenants {
  /** The tenant of all items that name none. */
  readonly unnamed = new Tenant(undefined);
  readonly #named = new Map<string, Tenant>();
  /** Those with claims. */
  readonly #waiting = new Heap<Tenant>((a, b) =>
    a.sortedServed === b.sortedServed ? a.order < b.order : a.sortedServed < b.sortedServed,
  );
  /** How far the tenant served last had come when it was served. */
  #level = 0;
  /**
   * What a tenant would have had by now if all that wait had been served in equal parts, as in fair queueing; no more than
   * the tenant has had that has had most. A new tenant starts there: did it start at the level, tenants that are new with every
   * item would never raise it, and no other tenant would have a turn.
   */
  #time = 0;
  #newLevel = 0;
  #highest = 0;
  /** The weight of those that waited when the latest batch was begun. */
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

  /** The share that is next in line. */
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

  /** To be called before something of a tenant's comes to wait in a lane that was empty. */
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

  /** Puts a share in line. */
  claim({ claim, rank, tenant }: Share): void {
    if (claim.heapIndex !== -1) return;
    claim.rank = rank;
    tenant.claims.push(claim);
    if (tenant.heapIndex !== -1) return;
    tenant.sortedServed = tenant.served;
    this.#waiting.push(tenant);
  }

  /** Puts a share in its place after its head has changed for an earlier one. */
  reorder({ claim, rank, tenant }: Share): void {
    if (claim.heapIndex === -1 || claim.rank === rank) return;
    claim.rank = rank;
    tenant.claims.update(claim);
  }

  /** Takes a share out of line. */
  release({ claim, tenant }: Share): void {
    if (claim.heapIndex === -1) return;
    tenant.claims.remove(claim);
    if (tenant.claims.size === 0) this.#waiting.remove(tenant);
  }

  /** To be called before items are taken for a batch. */
  begin(): void {
    this.#sharedBy = this.#waitingWeight;
  }

  /** To be called when they have been charged. */
  end(): void {
    if (this.#level > HIGHEST_LEVEL) this.#lowerAll();
  }

  /** `lastCost` is that of the last item: the level is where its turn began. */
  charge(tenant: Tenant, cost: number, lastCost: number): void {
    this.#time = Math.max(this.#time, tenant.served);
    this.surcharge(tenant, cost);
    this.#level = tenant.served - lastCost / tenant.weight;
    this.#newLevel = this.#time - lastCost / this.#sharedBy;
  }

  /** Adds to what a tenant has had, for more than its items cost; the level stays where its turn began. */
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

  /** Only differences count: brings all accounts down to where their last digits are not lost. */
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

  /** Which part of the line is due to a tenant who waits, by weight: all of it only where no other is known. */
  shareOf(tenant: Tenant): number {
    const isUnnamedKnown = this.unnamed.served > 0 || this.unnamed.queuedItems > 0;
    if (this.#named.size + (isUnnamedKnown ? 1 : 0) === 1) return 1;
    // Another who has nothing waiting now may come any moment.
    return tenant.weight / Math.max(this.#waitingWeight, tenant.weight + 1);
  }

  /**
   * How much of the others who wait is served until this one has had `cost`: of each as much for its weight, and no
   * more than it has. Of very many, some stand for all.
   */
  othersServedUntil(tenant: Tenant, cost: number): number {
    let looked = 0;
    let served = 0;
    for (const other of this.#waiting) {
      if (other === tenant) continue;
      if (looked === MOST_LOOKED_AT) break;
      looked += 1;
      served += Math.min(other.queuedCost, (cost * other.weight) / tenant.weight);
    }
    const others = this.#waiting.size - (tenant.heapIndex === -1 ? 0 : 1);
    return looked < others ? (served * others) / looked : served;
  }

  /** How many groups are served before a new one of this tenant: each tenant that waits gets as many batches as it does. */
  groupsServedUntil(tenant: Tenant): number {
    let looked = 0;
    let groups = 0;
    for (const other of this.#waiting) {
      if (other === tenant) continue;
      if (looked === MOST_LOOKED_AT) break;
      looked += 1;
      groups += Math.min(other.groups, Math.ceil(((tenant.groups + 1) * other.weight) / tenant.weight));
    }
    const others = this.#waiting.size - (tenant.heapIndex === -1 ? 0 : 1);
    return tenant.groups + (looked < others ? (groups * others) / looked : groups);
  }

  #sort(tenant: Tenant): void {
    tenant.sortedServed = tenant.served;
    this.#waiting.update(tenant);
  }

  /** What a tenant owes for having been served ahead of the others was charged by the old weight. */
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

  /**
   * Forgets tenants who have nothing waiting: what they owe is one item at the most. Weights are kept
   * for those who were given one, up to a limit.
   */
  #sweep(): void {
    for (const [id, { queuedItems, weight }] of this.#named) {
      if (queuedItems > 0) continue;
      if (weight === 1 || this.#named.size > MOST_REMEMBERED) this.#named.delete(id);
    }
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#named.size);
  }
}
