/** Everything that a processor holds a lease on: fetched, and not answered or given back. */
import { byLevel, type Delivery, heldKey } from './delivery.js';

/** How many of a consumer's items scripts look at: all, as it may hold more in Redis than has reached it. */
export const ALL_HELD = '1000000';

export class HeldItems<I> {
  readonly #held = new Map<string, Delivery<I>>();

  get size(): number {
    return this.#held.size;
  }

  add(delivery: Delivery<I>): void {
    this.#held.set(delivery.key, delivery);
  }

  /** Only under the same delivery: it may be held anew, under another. */
  remove(delivery: Delivery<I>): void {
    if (this.#held.get(delivery.key) === delivery) this.#held.delete(delivery.key);
  }

  find(level: number, id: string): Delivery<I> | undefined {
    return this.#held.get(heldKey(level, id));
  }

  /** By what scripts call it: level:id. */
  withKey(key: string): Delivery<I> | undefined {
    return this.#held.get(key);
  }

  all(): Delivery<I>[] {
    return [...this.#held.values()];
  }

  /** As scripts want them. */
  ids(): string[] {
    return byLevel(this.all(), ({ id }) => [id]);
  }
}
