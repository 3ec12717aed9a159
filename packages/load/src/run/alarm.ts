/** One timer, set for the earliest of the times that matter. */
import type { Clock } from 'batchwise';

export class Alarm {
  readonly #clock: Clock;
  readonly #ring: (now: number) => void;
  #timer: unknown;
  #at = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, ring: (now: number) => void) {
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings once, at the earliest time that was given since it last rang. */
  ringBy(at: number): void {
    if (at >= this.#at) return;
    this.clear();
    this.#at = at;
    this.#timer = this.#clock.setTimer(this.#onTimer, Math.max(0, at - this.#clock.now()));
  }

  clear(): void {
    if (this.#at === Number.POSITIVE_INFINITY) return;
    this.#clock.clearTimer(this.#timer);
    this.#at = Number.POSITIVE_INFINITY;
  }

  readonly #onTimer = (): void => {
    const now = this.#clock.now();
    const at = this.#at;
    this.#at = Number.POSITIVE_INFINITY;
    // Timers of Node may fire a fraction of a millisecond early, and after 24 days at the latest.
    if (now < at) this.ringBy(at);
    else this.#ring(now);
  };
}
