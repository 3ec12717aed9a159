/** Everything that a processor holds a lease on: fetched, and not answered or given back. */
import { byLevel, type Delivery, tellId } from './delivery.js';

/** How many of a consumer's items scripts look at: all, as it may hold more in Redis than has reached it. */
export const ALL_HELD = '1000000';

export class HeldItems<I> {
  readonly #held = new Set<Delivery<I>>();
  /** The keys of what was let go of, while somebody asks Redis what there is to take over. */
  #released: Set<string> | undefined = undefined;

  get size(): number {
    return this.#held.size;
  }

  add(delivery: Delivery<I>): void {
    delivery.isHeld = true;
    this.#held.add(delivery);
  }

  remove(delivery: Delivery<I>): void {
    delivery.isHeld = false;
    this.#held.delete(delivery);
    this.#released?.add(delivery.key);
  }

  /**
   * Until `forgetReleased()` what is let go of is not unknown: Redis may tell of items, as its own, that this processor has
   * answered by the time it hears so.
   */
  rememberReleased(): void {
    this.#released = new Set();
  }

  forgetReleased(): void {
    this.#released = undefined;
  }

  /** Those with these names (level:id). Asked when something has gone wrong, or away: not for each item. */
  withKeys(keys: readonly string[]): Delivery<I>[] {
    const wanted = new Set(keys);
    return this.all().filter(({ key }) => wanted.has(key));
  }

  /** Those of them that it does not hold yet. */
  unknownOf(deliveries: readonly Delivery<I>[]): Delivery<I>[] {
    const held = new Set(this.all().map(({ key }) => key));
    return deliveries.filter(({ key }) => !held.has(key) && !this.#released?.has(key));
  }

  all(): Delivery<I>[] {
    return [...this.#held];
  }

  /** As scripts want them. */
  ids(): string[] {
    return byLevel(this.all(), tellId);
  }
}
