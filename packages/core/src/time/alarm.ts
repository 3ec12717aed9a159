import { inOwnContext } from '../batch/async-context.js';
import type { Clock } from './clock.js';

/** The only timer of a batcher or backend set. */
export class Alarm {
  readonly #clock: Clock;
  readonly #ring: () => void;
  #timer: unknown = undefined;
  #at = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, ring: () => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /**
   * Rings at `at` or earlier. If it rings too early, the owner sets it again, which is cheaper than moving the timer
   * whenever an item is answered before its deadline.
   */
  ringBy(at: number, now: number): void {
    if (at >= this.#at) return;
    this.clear();
    this.#at = at;
    this.#timer = this.#clock.setTimer(this.#onTimer, Math.max(0, at - now));
  }

  clear(): void {
    if (this.#at === Number.POSITIVE_INFINITY) return;
    this.#at = Number.POSITIVE_INFINITY;
    this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  readonly #onTimer = (): void => {
    this.#at = Number.POSITIVE_INFINITY;
    this.#timer = undefined;
    // A timer keeps the async context of the request in which it was set.
    inOwnContext(this.#ring, undefined);
  };
}
