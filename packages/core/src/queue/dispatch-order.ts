/**
 * The order in which the items of a group are dispatched, read without changing the queue, for a policy that looks
 * at positions. It is the order of `Group.take`, with the charges of the items that have been read. Reading one more
 * position takes O(log(lanes read)). It is valid until the queue changes.
 */

import { Heap, type HeapNode } from '../heap.js';
import type { Entry } from './entry.js';
import { isServedBefore, type Lane, type LaneNode, type NextOfLane } from './lane.js';
import type { Tenant } from './tenants.js';

/** What a tenant has been served, including the items that have been read. */
interface Account {
  served: number;
}

/** How far one lane has been read. */
interface Walk extends NextOfLane, HeapNode {
  readonly lane: Lane;
  readonly account: Account;
  served: number;
  next: Entry | undefined;
  /** Index of the lane in the heap of the group until its children there have been added; −1 then. */
  index: number;
}

export class DispatchOrder {
  readonly #entries: Entry[] = [];
  readonly #lanes: Heap<LaneNode>;
  readonly #accounts = new Map<Tenant, Account>();
  /** The lanes that may be next. The lanes below them in the heap of the group have not been read yet. */
  readonly #walks = new Heap<Walk>(isServedBefore, (walk) => this.#refresh(walk));

  constructor(lanes: Heap<LaneNode>) {
    this.#lanes = lanes;
    this.#add(0);
  }

  /** Undefined behind the last item. */
  at(position: number): Entry | undefined {
    const entries = this.#entries;
    while (entries.length <= position) {
      const walk = this.#walks.first;
      if (walk?.next === undefined) return undefined;
      const { next, account, lane } = walk;
      entries.push(next);
      account.served += next.cost / lane.tenant.weight;
      walk.next = next.next;
      if (walk.next === undefined) this.#walks.remove(walk);
      else this.#walks.update(walk);
    }
    return entries[position];
  }

  #refresh(walk: Walk): boolean {
    const { index, account } = walk;
    if (index === -1 && walk.served === account.served) return false;
    if (index !== -1) {
      walk.index = -1;
      this.#add(2 * index + 1);
      this.#add(2 * index + 2);
    }
    walk.served = account.served;
    return true;
  }

  #add(index: number): void {
    const node = this.#lanes.at(index);
    if (node === undefined) return;
    const { lane, served, next } = node;
    const { tenant } = lane;
    let account = this.#accounts.get(tenant);
    if (account === undefined) {
      account = { served: tenant.served };
      this.#accounts.set(tenant, account);
    }
    this.#walks.push({ lane, served, next, account, index, heapIndex: -1 });
  }
}
