/**
 * All queued items.
 *
 *     ItemQueue ─┬─ Group (may share a batch) ─┬─ Lane (a tenant's items of one priority in a group) ── Entry
 *                ├─ Tenants ── Tenant ─────────┘
 *                └─ DispatchOrder: reads the items of a group in the order in which they are dispatched
 *
 * The next item is that of the tenant which has been served least for its weight; within the tenant it is the
 * earliest, a priority counting as a head start in time, so that no item starves. The policy is asked about the
 * group of that item. Its batch is filled by the same rule among the lanes of the group.
 */

import { Heap } from '../heap.js';
import type { Entry, EntryRemoval } from './entry.js';
import { Group, type Taken } from './group.js';
import { Lane, type PriorityClass } from './lane.js';
import { MOST_COUNTED, type Tenant, Tenants } from './tenants.js';

/** The work that is dispatched before a new item. */
export interface Ahead {
  /** The cost of items that can share a batch with it. */
  readonly cost: number;
  /** Groups that are dispatched earlier, and their cost. */
  readonly groups: number;
  readonly groupsCost: number;
  /** The arrival of the oldest item that can share a batch with it; ∞ for none. */
  readonly oldestAt: number;
}

/** Groups that are compared to choose the next one: bounds the time of a decision. */
const MOST_RIVALS = 256;
/** After more batches of one group in a row, the view of the policy is that of a queue without groups. */
const SINGLE_GROUP_BATCHES = 64;
/** In place of the key of a group before the first batch. */
const NONE = Symbol('none');

export class ItemQueue {
  readonly tenants = new Tenants();
  /** Queued items; callers that share a queued item are not counted. */
  length = 0;
  /** No queued item arrived before this time: a lower bound of `oldestAt` that is cheap to read. */
  noneBefore = Number.POSITIVE_INFINITY;
  /** Grows with each change of the queued items, and of when they may be dispatched. */
  changes = 0;

  readonly #removal: EntryRemoval;
  readonly #priorityAgeMs: number;
  /** Kept when empty, because most batchers have no other group. */
  readonly #ungrouped: Group;
  readonly #grouped = new Map<unknown, Group>();
  readonly #held = new Heap<Group>((a, b) => a.wakeAt < b.wakeAt);
  readonly #heldForBatchEnd = new Set<Group>();
  readonly #priorities: PriorityClass[] = [];
  #lanes = 0;
  #recentLane: Lane | undefined = undefined;
  #recentGroup: unknown = NONE;
  /** Batches since the latest one of another group. */
  #batchesInARow = SINGLE_GROUP_BATCHES + 1;

  constructor(removal: EntryRemoval, priorityAgeMs: number) {
    this.#removal = removal;
    this.#priorityAgeMs = priorityAgeMs;
    this.#ungrouped = new Group(undefined, removal, this.tenants);
  }

  append(entry: Entry, groupKey: unknown, tenant: Tenant, priority: number): Group {
    const lane = this.#laneFor(groupKey, tenant, priority);
    lane.append(entry);
    this.#added(entry, lane);
    return lane.group;
  }

  /** Puts an item of a batch back into its lane, and takes back the charge. */
  putBack(entry: Entry, { group, tenant, priorityClass }: Lane): Lane {
    const known = this.tenants.find(tenant.id, undefined);
    const lane = this.#laneFor(group.key, known, priorityClass.priority);
    lane.putBack(entry);
    this.#added(entry, lane);
    this.tenants.refund(known, entry.cost);
    return lane;
  }

  #added(entry: Entry, lane: Lane): void {
    const { group } = lane;
    this.length += 1;
    this.changes += 1;
    if (lane.head === entry) {
      group.headChanged(lane);
      if (entry.moment.at < this.noneBefore) this.noneBefore = entry.moment.at;
    }
    if (group.isHeld) this.wake(group);
  }

  remove(entry: Entry): void {
    const { lane } = entry;
    if (lane === undefined) return;
    entry.lane = undefined;
    lane.group.remove(entry, lane);
    this.#shrink(lane.group, 1);
  }

  /** Takes up to `count` items of a group in order, up to a total of `maxCost`. */
  take(group: Group, count: number, maxCost: number): Taken {
    const taken = group.take(count, maxCost);
    this.#shrink(group, taken.entries.length);
    this.#batchesInARow += 1;
    if (!Object.is(group.key, this.#recentGroup)) {
      if (this.#recentGroup !== NONE) this.#batchesInARow = 1;
      this.#recentGroup = group.key;
    }
    return taken;
  }

  /** Whether items of several groups arrive: a `groupOf` may put all of them into one. */
  get hasSeveralGroups(): boolean {
    return this.groups > 1 || this.#batchesInARow <= SINGLE_GROUP_BATCHES;
  }

  #shrink(group: Group, items: number): void {
    this.changes += 1;
    this.length -= items;
    if (group.length > 0) return;
    if (this.length === 0) {
      this.noneBefore = Number.POSITIVE_INFINITY;
      // The rounding errors of a sum of fractions remain otherwise.
      for (const priorityClass of this.#priorities) priorityClass.cost = 0;
    }
    if (group.isHeld) this.wake(group);
    if (group.key === undefined) return;
    this.#grouped.delete(group.key);
  }

  /** The earliest arrival; Infinity when nothing is queued. */
  get oldestAt(): number {
    let oldestAt = Number.POSITIVE_INFINITY;
    for (const group of this.#groups()) oldestAt = Math.min(oldestAt, group.oldestAt);
    return oldestAt;
  }

  /** The callers that arrived at this time or earlier, by group; callers that share an item one by one. */
  arrivedBy(at: number): [Group, Entry[]][] {
    const groups = [...this.#groups()].filter(({ oldestAt }) => oldestAt <= at);
    return groups.map((group) => {
      const callers = group.entries().flatMap((entry) => [...entry.callers]);
      return [group, callers.filter(({ arrivedAt }) => arrivedAt <= at)];
    });
  }

  /** The group of the next item, among the groups that are not held. */
  get next(): Group | undefined {
    return this.tenants.firstLane?.group;
  }

  /** The groups that are not held and have items of the next tenant and priority; the next group is the first. */
  rivals(): Group[] {
    const first = this.tenants.firstLane;
    const groups: Group[] = [];
    for (const { lane } of first?.tenant.lanes ?? []) {
      if (lane.priorityClass !== first?.priorityClass) continue;
      if (groups.push(lane.group) === MOST_RIVALS) break;
    }
    return groups;
  }

  /** Holds a group until then, or until an item arrives in it, or, if `wakeOnBatchEnd`, until a batch ends. */
  hold(group: Group, until: number, wakeOnBatchEnd: boolean): void {
    group.hold(until);
    this.#held.push(group);
    if (wakeOnBatchEnd) this.#heldForBatchEnd.add(group);
  }

  wake(group: Group): void {
    this.#held.remove(group);
    this.#heldForBatchEnd.delete(group);
    group.wake();
  }

  wakeDue(now: number): void {
    for (let due = this.#held.first; due !== undefined && due.wakeAt <= now; due = this.#held.first) {
      this.wake(due);
    }
  }

  batchEnded(): void {
    for (const group of this.#heldForBatchEnd) this.wake(group);
  }

  /** Everything that is queued now is dispatched without being held. */
  flush(now: number): void {
    for (const group of this.#groups()) group.flush(now);
    this.wakeAll();
  }

  wakeAll(): void {
    this.changes += 1;
    this.wakeDue(Number.POSITIVE_INFINITY);
  }

  /** When the first held group wakes. */
  get wakeAt(): number {
    return this.#held.first?.wakeAt ?? Number.POSITIVE_INFINITY;
  }

  /** The work ahead of a new item of this cost, by its group's turn, its priority and its tenant's share. */
  ahead(cost: number, groupKey: unknown, tenant: Tenant, priority: number): Ahead {
    const costAhead = this.#costAhead(cost, tenant, priority);
    const own = groupKey === undefined ? this.#ungrouped : this.#grouped.get(groupKey);
    const ownCost = Math.min(costAhead, own?.cost ?? 0);
    // Most batchers have no groups, and this runs for each call with a deadline.
    if (own === this.#ungrouped && this.#grouped.size === 0)
      return { cost: ownCost, groups: 0, groupsCost: 0, oldestAt: own.oldestAt };
    const othersCost = costAhead - ownCost;
    // A new group comes after all others of its tenant, and takes turns with those of other tenants.
    const mostGroups = this.tenants.groupsServedUntil(tenant);
    const oldestAt = own?.oldestAt ?? Number.POSITIVE_INFINITY;
    let groups = 0;
    let groupsCost = 0;
    if (oldestAt === Number.POSITIVE_INFINITY) {
      groups = this.groups;
      groupsCost = othersCost;
    } else {
      let counted = 0;
      for (const group of this.#groups()) {
        if (++counted > MOST_COUNTED) break;
        if (group === own || group.oldestAt > oldestAt) continue;
        groups += 1;
        groupsCost += group.cost;
      }
    }
    return {
      cost: ownCost,
      groups: Math.min(groups, mostGroups),
      groupsCost: Math.min(groupsCost, othersCost),
      oldestAt,
    };
  }

  /** The work ahead of a new item of this group if all queued items are dispatched first. */
  behindAll(group: Group): Ahead {
    const { cost, length, oldestAt } = group;
    return { cost, groups: this.groups - (length > 0 ? 1 : 0), groupsCost: this.cost - cost, oldestAt };
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

  /** All entries, copied, so that the queue may change while they are read. */
  entries(): Entry[] {
    return [...this.#groups()].flatMap((group) => group.entries());
  }

  /** How many groups have items. */
  get groups(): number {
    return this.#grouped.size + (this.#ungrouped.length > 0 ? 1 : 0);
  }

  *#groups(): Generator<Group> {
    yield this.#ungrouped;
    yield* this.#grouped.values();
  }

  /** A lane for one more item. */
  #laneFor(groupKey: unknown, tenant: Tenant, priority: number): Lane {
    const recent = this.#recentLane;
    // Most items go to the same lane as the one before.
    if (
      recent?.head !== undefined &&
      recent.tenant === tenant &&
      recent.priorityClass.priority === priority &&
      recent.group.key === groupKey
    )
      return recent;
    const group = groupKey === undefined ? this.#ungrouped : this.#groupOf(groupKey);
    this.#recentLane =
      group.lane(tenant, priority) ?? new Lane(group, tenant, this.#classOf(priority), this.#lanes++);
    return this.#recentLane;
  }

  #groupOf(key: unknown): Group {
    let group = this.#grouped.get(key);
    if (group === undefined) {
      group = new Group(key, this.#removal, this.tenants);
      this.#grouped.set(key, group);
    }
    return group;
  }

  #classOf(priority: number): PriorityClass {
    let found = this.#priorities.find((known) => known.priority === priority);
    if (found === undefined) {
      found = { priority, headStartMs: priority * this.#priorityAgeMs, cost: 0 };
      this.#priorities.push(found);
    }
    return found;
  }
}
