/**
 * Batchers that share backends and wait for a free slot. The next free slot goes to the batcher with the lowest
 * `slotOrder`; among equals, to the one that has waited longest.
 */
import type { Clock } from '../time/clock.js';

export interface SlotUser {
  readonly slotOrder: number;
  /** A slot may be free for it. */
  slotFreed(): void;
}

export class SlotLine {
  readonly #clock: Clock;
  readonly #freeSlots: () => number;
  /** In the order of their coming, and whether each has asked for a slot since it was last woken. */
  readonly #line = new Map<SlotUser, boolean>();
  #isDue = false;

  constructor(clock: Clock, freeSlots: () => number) {
    this.#clock = clock;
    this.#freeSlots = freeSlots;
  }

  /** Whether a slot is free that no batcher in line has a better claim to. If not, it stands in line from now on. */
  mayTake(user: SlotUser): boolean {
    if (this.#freeSlots() > this.#ahead(user)) return true;
    this.#line.set(user, true);
    return false;
  }

  /** It has had its turn, or needs no slot any more: those behind it move up. */
  leave(user: SlotUser): void {
    if (this.#line.delete(user)) this.wake();
  }

  /** Has those in line ask again, at the end of the turn, because a batch that ends may let several start. */
  wake(): void {
    if (this.#isDue || this.#line.size === 0) return;
    this.#isDue = true;
    this.#clock.defer(() => {
      this.#isDue = false;
      const waiting = [...this.#line.keys()].map((user) => ({ user, order: user.slotOrder }));
      // Stable: among equals the order of their coming.
      waiting.sort((a, b) => (a.order === b.order ? 0 : a.order - b.order));
      for (const { user } of waiting) {
        if (this.#freeSlots() <= 0) break;
        this.#line.set(user, false);
        user.slotFreed();
        // It has nothing to dispatch any more, or holds it for another reason.
        if (this.#line.get(user) === false) this.leave(user);
      }
    });
  }

  #ahead(user: SlotUser): number {
    if (this.#line.size === 0) return 0;
    const { slotOrder } = user;
    let ahead = 0;
    let isBehind = true;
    for (const other of this.#line.keys()) {
      if (other === user) isBehind = false;
      else if (other.slotOrder < slotOrder || (isBehind && other.slotOrder === slotOrder)) ahead += 1;
    }
    return ahead;
  }
}
