/**
 * Batchers that share backends and wait for a free slot. The next free slot goes to the batcher with the lowest
 * `slotOrder`; among equals, to the batcher that has waited longest.
 */
import type { Clock } from '../time/clock.js';
import type { SetUser } from './backend-set.js';

export class SlotQueue {
  readonly #clock: Clock;
  readonly #freeSlots: () => number;
  /** In order of arrival, and whether each has requested a slot since it was last woken. */
  readonly #waiting = new Map<SetUser, boolean>();
  #isDue = false;

  constructor(clock: Clock, freeSlots: () => number) {
    this.#clock = clock;
    this.#freeSlots = freeSlots;
  }

  /** Returns true if a slot is free for the batcher and no waiting batcher precedes it. Otherwise it waits from now on. */
  request(user: SetUser): boolean {
    if (this.#freeSlots() > this.#ahead(user)) return true;
    this.#waiting.set(user, true);
    return false;
  }

  /** The batcher has used its slot, or needs none now. */
  dequeue(user: SetUser): void {
    if (this.#waiting.delete(user)) this.wake();
  }

  /** Has the waiting batchers request slots again at the end of the turn, because one batch that ends may let several start. */
  wake(): void {
    if (this.#isDue || this.#waiting.size === 0) return;
    this.#isDue = true;
    this.#clock.defer(() => {
      this.#isDue = false;
      const waiting = [...this.#waiting.keys()].map((user) => ({ user, order: user.slotOrder }));
      // The sort is stable: equals stay in order of arrival.
      waiting.sort((a, b) => (a.order === b.order ? 0 : a.order - b.order));
      for (const { user } of waiting) {
        if (this.#freeSlots() <= 0) break;
        this.#waiting.set(user, false);
        user.slotFreed();
        // The batcher has nothing to dispatch any more, or holds its items for another reason.
        if (this.#waiting.get(user) === false) this.dequeue(user);
      }
    });
  }

  #ahead(user: SetUser): number {
    if (this.#waiting.size === 0) return 0;
    const { slotOrder } = user;
    let ahead = 0;
    let isBehind = true;
    for (const other of this.#waiting.keys()) {
      if (other === user) isBehind = false;
      else if (other.slotOrder < slotOrder || (isBehind && other.slotOrder === slotOrder)) ahead += 1;
    }
    return ahead;
  }
}
