/**
 * Fair queueing among tenants. A tenant's `served` is what its items have cost so far, divided by its weight. Of the
 * tenants with items, the one that has been served least is next, so that they share by weight. A tenant that returns
 * after a pause starts level with the others: absence earns no credit.
 */
import { Heap, type HeapNode } from '../heap.js';
import { isEarlier, type Lane, type LaneNode } from './lane.js';

export class Tenant implements HeapNode {
  readonly id: string | undefined;
  weight = 1;
  served = 0;
  /** `served` when the tenant was sorted; lower until the heap is up to date. */
  sortedServed = 0;
  /** It has had no item yet. */
  isNew = true;
  queuedItems = 0;
  queuedCost = 0;
  /** The number of groups in which it has items. */
  groups = 0;
  /** Its lanes in all groups that are not held. */
  readonly lanes = new Heap<LaneNode>(isEarlier);
  heapIndex = -1;
  /** Decides between tenants that have been served the same: grows each time that a tenant gets its first item. */
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
/** How many other tenants or groups are counted one by one to estimate the work ahead of a new item. */
export const MOST_COUNTED = 64;

export class Tenants {
  /** The tenant of all items that name none. */
  readonly unnamed = new Tenant(undefined);
  readonly #named = new Map<string, Tenant>();
  /** Tenants with items in groups that are not held. */
  readonly #waiting = new Heap<Tenant>(
    (a, b) => (a.sortedServed === b.sortedServed ? a.order < b.order : a.sortedServed < b.sortedServed),
    refresh,
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
  /** The weight of all tenants with items. */
  #waitingWeight = 0;
  #order = 0;
  #sweepAt = FIRST_SWEEP;

  /** Known tenants with a name. */
  get size(): number {
    return this.#named.size;
  }

  find(id: string | undefined, weight: number | undefined): Tenant {
    const tenant = id === undefined ? this.unnamed : (this.#named.get(id) ?? this.#add(id));
    if (weight !== undefined && weight !== tenant.weight) this.#reweigh(tenant, weight);
    return tenant;
  }

  /** The lane of the next item, among those of groups that are not held. */
  get firstLane(): Lane | undefined {
    return this.#waiting.first?.lanes.first?.lane;
  }

  /** The tenant has its first item. */
  enter(tenant: Tenant): void {
    tenant.order = this.#order++;
    this.#waitingWeight += tenant.weight;
    const start = tenant.isNew ? Math.max(this.#newLevel, this.#level) : this.#level;
    tenant.isNew = false;
    if (tenant.served < start) tenant.served = start;
  }

  /** The tenant has nothing queued any more. */
  becameEmpty(tenant: Tenant): void {
    tenant.queuedCost = 0; // the rounding errors of a sum of fractions remain otherwise
    this.#waitingWeight -= tenant.weight;
  }

  /** Puts a lane into the order of its tenant. */
  add({ tenant, inTenant }: Lane): void {
    if (inTenant.heapIndex !== -1) return;
    tenant.lanes.push(inTenant);
    if (tenant.heapIndex !== -1) return;
    tenant.sortedServed = tenant.served;
    this.#waiting.push(tenant);
  }

  /** Takes a lane out of the order of its tenant. */
  remove({ tenant, inTenant }: Lane): void {
    tenant.lanes.remove(inTenant);
    if (tenant.lanes.size === 0) this.#waiting.remove(tenant);
  }

  /** `lastCost` is that of the last item. */
  charge(tenant: Tenant, cost: number, lastCost: number): void {
    this.#time = Math.max(this.#time, tenant.served);
    this.surcharge(tenant, cost);
    this.#level = tenant.served - lastCost / tenant.weight;
    this.#newLevel = this.#time - lastCost / this.#waitingWeight;
  }

  /** Charges a tenant for more than its items cost; the level stays. */
  surcharge(tenant: Tenant, cost: number): void {
    tenant.served += cost / tenant.weight;
    this.#highest = Math.max(this.#highest, tenant.served);
    this.#time = Math.min(this.#time + cost / this.#waitingWeight, this.#highest);
  }

  /** Takes back the charge for an item that was not served. */
  refund(tenant: Tenant, cost: number): void {
    tenant.served -= cost / tenant.weight;
    this.#resort(tenant);
  }

  /** Only differences count: lowers all accounts when they are high, so that small charges are not lost in rounding. */
  lowerIfHigh(): void {
    const level = this.#level;
    if (level <= HIGHEST_LEVEL) return;
    this.#level = 0;
    this.#newLevel -= level;
    this.#time -= level;
    this.#highest -= level;
    for (const tenant of [this.unnamed, ...this.#named.values()]) tenant.served -= level;
    for (const tenant of [...this.#waiting]) this.#resort(tenant);
  }

  /** For a tenant that may have been served less than when it was last sorted. */
  #resort(tenant: Tenant): void {
    tenant.sortedServed = tenant.served;
    this.#waiting.update(tenant);
    for (const { lane } of tenant.lanes) lane.group.resort(lane);
  }

  /** The part of the queue that a tenant may fill, by weight: all of it only if no other tenant is known. */
  shareOf(tenant: Tenant): number {
    if (this.#named.size + (this.unnamed.isNew ? 0 : 1) === 1) return 1;
    // Another tenant may have items at any moment.
    return tenant.weight / Math.max(this.#waitingWeight, tenant.weight + 1);
  }

  /**
   * The cost of other tenants that is served until this one has been served `cost`: of each as much for its weight, and
   * no more than it has queued.
   */
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

  /** The sum over the other waiting tenants; of more than `MOST_COUNTED` it is extrapolated. */
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

  /** Converts what the tenant has been served above the level from its old weight to the new one. */
  #reweigh(tenant: Tenant, weight: number): void {
    if (tenant.queuedItems > 0) this.#waitingWeight += weight - tenant.weight;
    const debt = Math.max(0, tenant.served - this.#level) * tenant.weight;
    tenant.weight = weight;
    tenant.served = this.#level + debt / weight;
    this.#resort(tenant);
  }

  #add(id: string): Tenant {
    if (this.#named.size >= this.#sweepAt) this.#sweep();
    const tenant = new Tenant(id);
    this.#named.set(id, tenant);
    return tenant;
  }

  /** Forgets tenants without items. Tenants with a weight of their own are kept, up to a limit. */
  #sweep(): void {
    for (const [id, { queuedItems, weight }] of this.#named) {
      if (queuedItems > 0) continue;
      if (weight === 1 || this.#named.size > MOST_REMEMBERED) this.#named.delete(id);
    }
    this.#sweepAt = Math.max(FIRST_SWEEP, 2 * this.#named.size);
  }
}

function refresh(tenant: Tenant): boolean {
  if (tenant.sortedServed === tenant.served) return false;
  tenant.sortedServed = tenant.served;
  return true;
}
