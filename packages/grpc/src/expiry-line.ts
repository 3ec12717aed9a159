import type { Clock } from 'batchwise';

/** What can stand in an `ExpiryLine`; the line keeps its links in here, so that joining allocates nothing. */
export interface Expiring {
  expiresAt: number;
  before: Expiring | undefined;
  after: Expiring | undefined;
  expire(): void;
}

/**
 * Many that all get the same time: whoever joins last expires last, so a linked line and one timer do for
 * any number of them. Coarse: an expiry may come up to a quarter of the time late.
 */
export class ExpiryLine {
  readonly #clock: Clock;
  readonly #afterMs: number;
  #first: Expiring | undefined;
  #last: Expiring | undefined;
  #timer: unknown;

  constructor(clock: Clock, afterMs: number) {
    this.#clock = clock;
    this.#afterMs = afterMs;
  }

  join(one: Expiring): void {
    one.expiresAt = this.#clock.now() + this.#afterMs;
    one.before = this.#last;
    one.after = undefined;
    if (this.#last === undefined) this.#first = one;
    else this.#last.after = one;
    this.#last = one;
    if (this.#timer === undefined) this.#sweepLater();
  }

  /** Does nothing for one that is not in the line. */
  leave(one: Expiring): void {
    if (this.#first !== one && one.before === undefined) return;
    if (one.before === undefined) this.#first = one.after;
    else one.before.after = one.after;
    if (one.after === undefined) this.#last = one.before;
    else one.after.before = one.before;
    one.before = undefined;
    one.after = undefined;
  }

  /** Forgets them all. */
  clear(): void {
    while (this.#first !== undefined) this.leave(this.#first);
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  /** Not cleared when the line runs empty and set again at the next: that would cost a timer a call. */
  #sweepLater(): void {
    this.#timer = unreferenced(this.#clock.setTimer(() => this.#sweep(), this.#afterMs / 4));
  }

  #sweep(): void {
    this.#timer = undefined;
    const now = this.#clock.now();
    for (let one = this.#first; one !== undefined && one.expiresAt <= now; one = this.#first) {
      this.leave(one);
      one.expire();
    }
    if (this.#first !== undefined && this.#timer === undefined) this.#sweepLater();
  }
}

/** A timer of the real clock that does not keep the process alive by itself: an open connection does. */
export function unreferenced(timer: unknown): unknown {
  if (typeof timer === 'object' && timer !== null && 'unref' in timer && typeof timer.unref === 'function') {
    timer.unref();
  }
  return timer;
}
