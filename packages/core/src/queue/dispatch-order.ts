/**
 * The order in which the items of a group are dispatched, read without changing the queue: a policy looks
 * at positions with it, and `Group.take` takes what it says.
 *
 * The next item is that of the tenant which has been served least for its weight, counting what this walk
 * has passed; within the tenant it is the item of lowest rank. Reading one more position takes
 * O(log(tenants passed)) and a scan of the tenant's priorities. It is valid until the queue changes.
 */
import type { Entry } from './entry.js';
import { Heap, type HeapNode } from './heap.js';
import { rankOf, type Share } from './share.js';

export class DispatchOrder {
  /** The items in order, as far as they have been read, and their cost. */
  readonly entries: Entry[] = [];
  cost = 0;
  /** The shares that have come up. */
  readonly passed: Share[] = [];

  readonly #shares: Heap<Share>;
  /** The shares that may be next. Those below them in the heap of the group have not been looked at yet. */
  readonly #walks = new Heap<ShareWalk>(isBefore);

  constructor(shares: Heap<Share>) {
    this.#shares = shares;
    this.#reach(0);
  }

  /** Undefined behind the last item. */
  at(position: number): Entry | undefined {
    this.read(position + 1, Number.POSITIVE_INFINITY);
    return this.entries[position];
  }

  /** Reads as far as `count` items whose cost together is within `maxCost`. */
  read(count: number, maxCost: number): this {
    const { entries } = this;
    while (entries.length < count) {
      const walk = this.#firstWalk;
      const entry = walk?.entry;
      if (walk === undefined || entry === undefined || this.cost + entry.cost > maxCost) break;
      entries.push(entry);
      this.cost += entry.cost;
      walk.pass();
      if (walk.entry === undefined) this.#walks.remove(walk);
      else this.#walks.update(walk);
    }
    return this;
  }

  /** The walk whose item is next, its key up to date. */
  get #firstWalk(): ShareWalk | undefined {
    const walks = this.#walks;
    for (let walk = walks.first; walk !== undefined; walk = walks.first) {
      const { place } = walk;
      if (place === -1) return walk;
      walk.place = -1;
      this.passed.push(walk.share);
      walk.served = walk.share.tenant.served;
      walks.update(walk);
      this.#reach(2 * place + 1);
      this.#reach(2 * place + 2);
    }
    return undefined;
  }

  #reach(place: number): void {
    const share = this.#shares.at(place);
    if (share !== undefined) this.#walks.push(new ShareWalk(share, place));
  }
}

/** The walk through the items of one tenant. */
class ShareWalk implements HeapNode {
  readonly share: Share;
  /** Its place in the heap of the group until those below it have been reached; −1 then. */
  place: number;
  /** What the tenant has been served, what this walk has passed included. Until `place` is −1, no more than that. */
  served: number;
  heapIndex = -1;
  /** The next item. */
  entry: Entry | undefined = undefined;

  /** The next item of each lane. */
  readonly #heads: (Entry | undefined)[];
  #first = 0;

  constructor(share: Share, place: number) {
    this.share = share;
    this.place = place;
    this.served = share.sortedServed;
    this.#heads = share.waiting.map(({ head }) => head);
    this.#find();
  }

  pass(): void {
    const entry = this.entry as Entry;
    this.#heads[this.#first] = entry.next;
    this.served += entry.cost / this.share.tenant.weight;
    this.#find();
  }

  #find(): void {
    const { waiting } = this.share;
    let firstRank = Number.POSITIVE_INFINITY;
    let firstOrder = Number.POSITIVE_INFINITY;
    this.entry = undefined;
    for (let i = 0; i < waiting.length; i++) {
      const head = this.#heads[i];
      if (head === undefined) continue;
      const { headStartMs, order } = waiting[i] as Share['waiting'][number];
      const rank = rankOf(head, headStartMs);
      if (rank > firstRank || (rank === firstRank && order > firstOrder)) continue;
      this.entry = head;
      this.#first = i;
      firstRank = rank;
      firstOrder = order;
    }
  }
}

function isBefore(a: ShareWalk, b: ShareWalk): boolean {
  return a.served === b.served ? a.share.order < b.share.order : a.served < b.served;
}
