/**
 * Everything that waits.
 *
 *     ItemQueue ─┬─ Group (may share a batch) ──┐
 *                  │                              ├─ Share (a tenant in a group) ── Lane (a priority) ── Entry
 *                  └─ Tenants ── Tenant ──────────┘
 *
 * Who is next: the tenant who has had the least for its weight; within a tenant the item that came
 * first, a priority counting as a head start in time, so that everybody's turn comes. That item's group
 * is asked about next. Its batch is filled by the same rule among the shares of that group.
 *
 * All of these are kept in heaps whose keys are brought up to date only when a node comes up first: as
 * long as keys only grow meanwhile, who comes up first with a true key is the first of all. Where a key
 * gets smaller (something is put back, a weight changes), the node is moved at once.
 */
import type { DispatchOrder } from './dispatch-order.js';
import type { Entry, EntryRemoval } from './entry.js';
import { AWAKE, Group } from './group.js';
import { Heap } from './heap.js';
import type { Lane, PriorityClass } from './lane.js';
import { type Tenant, Tenants } from './tenants.js';

/** What leaves before a newcomer. */
export interface Ahead {
  /** Of those with whom it can share a batch. */
  readonly cost: number;
  /** Groups whose turn comes earlier, and what waits in them. */
  readonly groups: number;
  readonly groupsCost: number;
}

/** How many groups are looked at for a newcomer. */
const MOST_LOOKS = 64;

export class ItemQueue {
  readonly tenants = new Tenants();
  /** Items in line; callers who share an item with one in line are not counted. */
  length = 0;
  /** Grows with each change: of what is queued, and of when it is dispatched. */
  changes = 0;

  readonly #removal: EntryRemoval;
  readonly #priorityAgeMs: number;
  /** Kept when empty, because most batchers have no other group. */
  readonly #ungrouped = new Group(undefined, this.tenants);
  readonly #grouped = new Map<unknown, Group>();
  readonly #asleep = new Heap<Group>((a, b) => a.wakeAt < b.wakeAt);
  readonly #lightSleepers = new Set<Group>();
  readonly #priorities: PriorityClass[] = [];
  #recentLane: Lane | undefined = undefined;

  constructor(removal: EntryRemoval, priorityAgeMs: number) {
    this.#removal = removal;
    this.#priorityAgeMs = priorityAgeMs;
  }

  append(entry: Entry, groupKey: unknown, tenant: Tenant, priority: number): Group {
    // Most items go where the one before them went.
    let lane = this.#recentLane;
    if (lane?.tenant !== tenant || lane.priorityClass.priority !== priority || lane.group.key !== groupKey) {
      lane = this.#laneFor(groupKey, tenant, priority);
    }
    this.length += 1;
    this.changes += 1;
    if (lane.head === undefined) lane.group.begin(lane, entry);
    else lane.append(entry);
    if (lane.group.wakeAt !== AWAKE) this.wake(lane.group);
    return lane.group;
  }

  /** Puts an item that had left with a batch back where it was: at the head of its lane, at no charge. */
  putBack(entry: Entry, { group, tenant, priorityClass }: Lane): Lane {
    const known = this.tenants.find(tenant.id, undefined);
    const lane = this.#laneFor(group.key, known, priorityClass.priority);
    this.length += 1;
    this.changes += 1;
    lane.group.restore(lane, entry);
    this.tenants.refund(known, entry.cost);
    if (lane.group.wakeAt !== AWAKE) this.wake(lane.group);
    return lane;
  }

  remove(entry: Entry): void {
    const { lane } = entry;
    if (lane === undefined) return;
    entry.lane = undefined;
    lane.group.remove(entry, lane);
    this.#shrink(lane.group, 1);
  }

  /** Takes up to `count` items of a group in order, as long as their cost together is within `maxCost`. */
  take(group: Group, count: number, maxCost: number): DispatchOrder {
    const order = group.take(count, maxCost);
    this.#shrink(group, order.entries.length);
    return order;
  }

  #shrink(group: Group, items: number): void {
    this.changes += 1;
    this.length -= items;
    if (group.length > 0) return;
    // Sums of fractions do not come back to 0 by themselves.
    if (this.length === 0) for (const priorityClass of this.#priorities) priorityClass.cost = 0;
    if (group.wakeAt !== AWAKE) this.wake(group);
    if (group.key === undefined) return;
    this.#grouped.delete(group.key);
    if (this.#recentLane?.group === group) this.#recentLane = undefined;
  }

  /** When the item that has waited longest came; Infinity when nothing waits. */
  get oldestAt(): number {
    let oldestAt = Number.POSITIVE_INFINITY;
    for (const group of this.#groups()) oldestAt = Math.min(oldestAt, group.oldestAt);
    return oldestAt;
  }

  /** The callers that arrived at this time or earlier, by group; those that share an item each for itself. */
  arrivedBy(at: number): [Group, Entry[]][] {
    const groups = [...this.#groups()].filter(({ oldestAt }) => oldestAt <= at);
    return groups.map((group) => {
      const callers = group.entries().flatMap((entry) => (entry.shared ? [...entry.shared.callers] : entry));
      return [group, callers.filter(({ arrivedAt }) => arrivedAt <= at)];
    });
  }

  /** The group that is next in line, of those that are not asleep. */
  next(now: number): Group | undefined {
    for (let due = this.#asleep.first; due !== undefined && due.wakeAt <= now; due = this.#asleep.first) {
      this.wake(due);
    }
    const { tenants } = this;
    for (let share = tenants.firstShare; share !== undefined; share = tenants.firstShare) {
      if (share.group.wakeAt === AWAKE) return share.group;
      share.group.park(share);
    }
    return undefined;
  }

  /** Leaves a group alone until then, or until something arrives in it, or, if so wished, until a batch ends. */
  sleep(group: Group, until: number, wakeOnBatchEnd: boolean): void {
    group.wakeAt = until;
    this.#asleep.push(group);
    if (wakeOnBatchEnd) this.#lightSleepers.add(group);
  }

  wake(group: Group): void {
    this.#asleep.remove(group);
    this.#lightSleepers.delete(group);
    group.wake();
  }

  /** A batch has ended. */
  wakeLightSleepers(): void {
    for (const group of this.#lightSleepers) this.wake(group);
  }

  /** Lets all that waits now leave without being held. */
  flush(now: number): void {
    for (const group of this.#groups()) group.flush(now);
    this.wakeAll();
  }

  wakeAll(): void {
    this.changes += 1;
    for (let group = this.#asleep.first; group !== undefined; group = this.#asleep.first) this.wake(group);
  }

  /** When the first sleeping group is to be asked again. */
  get wakeAt(): number {
    return this.#asleep.first?.wakeAt ?? Number.POSITIVE_INFINITY;
  }

  /** What will leave before a newcomer of this cost, by its group's turn, its priority and its tenant's share. */
  ahead(cost: number, groupKey: unknown, tenant: Tenant, priority: number): Ahead {
    const costAhead = this.#costAhead(cost, tenant, priority);
    const own = groupKey === undefined ? this.#ungrouped : this.#grouped.get(groupKey);
    const ownCost = Math.min(costAhead, own?.cost ?? 0);
    // Most batchers have no groups, and this runs for each call with a deadline.
    if (own === this.#ungrouped && this.#grouped.size === 0)
      return { cost: ownCost, groups: 0, groupsCost: 0 };
    const othersCost = costAhead - ownCost;
    // A group that begins now comes after all others of its tenant, and takes turns with those of other tenants.
    const mostGroups = this.tenants.groupsServedUntil(tenant);
    if (own === undefined || own.length === 0)
      return { cost: 0, groups: Math.min(this.groups, mostGroups), groupsCost: othersCost };
    let groups = 0;
    let groupsCost = 0;
    let looks = 0;
    for (const group of this.#groups()) {
      if (++looks > MOST_LOOKS) break;
      if (group === own || group.length === 0 || group.oldestAt > own.oldestAt) continue;
      groups += 1;
      groupsCost += group.cost;
    }
    return {
      cost: ownCost,
      groups: Math.min(groups, mostGroups),
      groupsCost: Math.min(groupsCost, othersCost),
    };
  }

  /** What will leave before one of this group that comes when all others are to go first. */
  behindAll(group: Group): Ahead {
    const otherGroups = this.groups - (group.length > 0 ? 1 : 0);
    return { cost: group.cost, groups: otherGroups, groupsCost: this.cost - group.cost };
  }

  #costAhead(cost: number, tenant: Tenant, priority: number): number {
    let ahead = 0;
    for (const known of this.#priorities) if (known.priority >= priority) ahead += known.cost;
    const { queuedCost } = tenant;
    if (ahead <= queuedCost) return ahead;
    return Math.min(ahead, queuedCost + this.tenants.othersServedUntil(tenant, queuedCost + cost));
  }

  get cost(): number {
    let cost = 0;
    for (const known of this.#priorities) cost += known.cost;
    return cost;
  }

  /** The cost of all items where none has a group; Infinity otherwise. */
  get ungroupedCost(): number {
    return this.#grouped.size === 0 ? this.#ungrouped.cost : Number.POSITIVE_INFINITY;
  }

  /** Everything that waits, as of now. */
  entries(): Entry[] {
    return [...this.#groups()].flatMap((group) => group.entries());
  }

  /** How many groups have something waiting. */
  get groups(): number {
    return this.#grouped.size + (this.#ungrouped.length > 0 ? 1 : 0);
  }

  *#groups(): Generator<Group> {
    yield this.#ungrouped;
    yield* this.#grouped.values();
  }

  #laneFor(groupKey: unknown, tenant: Tenant, priority: number): Lane {
    const group = groupKey === undefined ? this.#ungrouped : this.#groupOf(groupKey);
    this.#recentLane = group.share(tenant).lane(this.#removal, this.#classOf(priority), this.#priorityAgeMs);
    return this.#recentLane;
  }

  #groupOf(key: unknown): Group {
    let group = this.#grouped.get(key);
    if (group === undefined) {
      group = new Group(key, this.tenants);
      this.#grouped.set(key, group);
    }
    return group;
  }

  #classOf(priority: number): PriorityClass {
    let found = this.#priorities.find((known) => known.priority === priority);
    if (found === undefined) {
      found = { priority, cost: 0 };
      this.#priorities.push(found);
    }
    return found;
  }
}
