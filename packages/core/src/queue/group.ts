/** Items that may share a batch. */

import { Heap, type HeapNode } from '../heap.js';
import { DispatchOrder } from './dispatch-order.js';
import type { Entry, EntryRemoval } from './entry.js';
import { isServedBefore, type Lane, type LaneNode } from './lane.js';
import type { Tenant, Tenants } from './tenants.js';

const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number;

/** Items that were taken, and their cost. */
export interface Taken {
  readonly entries: readonly Entry[];
  readonly cost: number;
}

export class Group implements HeapNode {
  readonly key: unknown;
  readonly removal: EntryRemoval;
  length = 0;
  cost = 0;
  /** Until when it is held; Infinity for until the next event, −Infinity while it is not held. */
  wakeAt = NEGATIVE_INFINITY;
  /** Its place in the heap of held groups. */
  heapIndex = -1;
  /** Items that arrived until then are dispatched without being held. */
  #flushedAt = NEGATIVE_INFINITY;

  readonly #tenants: Tenants;
  readonly #lanes = new Map<Tenant, Lane[]>();
  readonly #order = new Heap<LaneNode>(isServedBefore, refresh);
  readonly #ages = new Heap<Lane>((a, b) => a.oldestAt < b.oldestAt);

  constructor(key: unknown, removal: EntryRemoval, tenants: Tenants) {
    this.key = key;
    this.removal = removal;
    this.#tenants = tenants;
  }

  /** The earliest arrival; Infinity when nothing is queued. */
  get oldestAt(): number {
    return this.#ages.first?.oldestAt ?? POSITIVE_INFINITY;
  }

  /** Of its oldest item, and of the next of each lane. */
  deadline(targetLatencyMs: number): number {
    let earliest = this.oldestAt + targetLatencyMs;
    for (const { next } of this.#order) earliest = Math.min(earliest, (next as Entry).deadline);
    return earliest;
  }

  get isHeld(): boolean {
    return this.wakeAt !== NEGATIVE_INFINITY;
  }

  /** What is queued now is dispatched without being held. */
  flush(now: number): void {
    if (this.length > 0) this.#flushedAt = now;
  }

  get isFlushed(): boolean {
    if (this.#flushedAt === NEGATIVE_INFINITY) return false;
    if (this.oldestAt > this.#flushedAt) this.#flushedAt = NEGATIVE_INFINITY;
    return this.#flushedAt !== NEGATIVE_INFINITY;
  }

  lane(tenant: Tenant, priority: number): Lane | undefined {
    return this.#lanes.get(tenant)?.find(({ priorityClass }) => priorityClass.priority === priority);
  }

  /** The head of a lane has changed, or its last item was removed. */
  headChanged(lane: Lane): void {
    if (lane.head === undefined) this.#remove(lane);
    else if (lane.heapIndex === -1) this.#add(lane);
    else {
      this.#ages.update(lane);
      this.#order.update(lane.inGroup);
      lane.tenant.lanes.update(lane.inTenant);
    }
  }

  #add(lane: Lane): void {
    const { tenant } = lane;
    if (tenant.queuedItems === 1) this.#tenants.enter(tenant);
    const lanes = this.#lanes.get(tenant);
    if (lanes === undefined) {
      tenant.groups += 1;
      this.#lanes.set(tenant, [lane]);
    } else lanes.push(lane);
    this.#ages.push(lane);
    lane.inGroup.served = tenant.served;
    this.#order.push(lane.inGroup);
    this.#tenants.add(lane);
  }

  #remove(lane: Lane): void {
    const { tenant } = lane;
    const lanes = this.#lanes.get(tenant) as Lane[];
    if (lanes.length > 1) lanes.splice(lanes.indexOf(lane), 1);
    else {
      tenant.groups -= 1;
      this.#lanes.delete(tenant);
    }
    this.#ages.remove(lane);
    this.#order.remove(lane.inGroup);
    this.#tenants.remove(lane);
    if (tenant.queuedItems === 0) this.#tenants.becameEmpty(tenant);
    if (this.length > 0) return;
    this.cost = 0; // the rounding errors of a sum of fractions remain otherwise
    this.#flushedAt = NEGATIVE_INFINITY;
  }

  /** The order in which its items are dispatched. Valid until the queue changes. */
  order(): DispatchOrder {
    return new DispatchOrder(this.#order);
  }

  /** Takes up to `count` items in order, up to a total of `maxCost`, and charges their tenants. */
  take(count: number, maxCost: number): Taken {
    const entries: Entry[] = [];
    let cost = 0;
    while (entries.length < count) {
      const lane = this.#order.first?.lane;
      if (lane === undefined) break;
      // From the only lane, all items are taken at once.
      const most = this.#order.size === 1 ? count - entries.length : 1;
      const laneCost = lane.take(entries, most, cost, maxCost);
      if (laneCost === 0) break;
      cost += laneCost;
      this.#tenants.charge(lane.tenant, laneCost, (entries.at(-1) as Entry).cost);
      this.headChanged(lane);
    }
    this.#tenants.lowerIfHigh();
    return { entries, cost };
  }

  remove(entry: Entry, lane: Lane): void {
    const wasHead = lane.head === entry;
    lane.remove(entry);
    if (wasHead) this.headChanged(lane);
  }

  /** For a lane whose tenant may have been served less than when it was last sorted. */
  resort({ inGroup, tenant }: Lane): void {
    inGroup.served = tenant.served;
    this.#order.update(inGroup);
  }

  /** Takes its lanes out of the orders of their tenants until it wakes. */
  hold(until: number): void {
    this.wakeAt = until;
    for (const { lane } of this.#order) this.#tenants.remove(lane);
  }

  wake(): void {
    this.wakeAt = NEGATIVE_INFINITY;
    for (const { lane } of [...this.#order]) {
      this.resort(lane); // its tenant may have got a refund
      this.#tenants.add(lane);
    }
  }

  entries(): Entry[] {
    const entries: Entry[] = [];
    for (const { next } of this.#order) {
      for (let entry = next; entry !== undefined; entry = entry.next) entries.push(entry);
    }
    return entries;
  }
}

function refresh(node: LaneNode): boolean {
  const { served } = node.lane.tenant;
  if (node.served === served) return false;
  node.served = served;
  return true;
}
