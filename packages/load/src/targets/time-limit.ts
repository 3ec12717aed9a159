/** The time limit of requests that all have the same: the oldest expires first, so one timer does for all of them. */
import type { Clock } from 'batchwise';

/** The list keeps its links in its members, so that a request allocates nothing for its limit. */
export interface Limited {
  expiresAt: number;
  earlier: Limited | undefined;
  later: Limited | undefined;
  /** Called once, when the time is over; the member is off the list by then. */
  expire(): void;
}

export class TimeLimit {
  readonly #clock: Clock;
  readonly #limitMs: number;
  #oldest: Limited | undefined;
  #newest: Limited | undefined;
  #timer: unknown;

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#limitMs = limitMs;
  }

  start(one: Limited): void {
    one.expiresAt = this.#clock.now() + this.#limitMs;
    one.earlier = this.#newest;
    one.later = undefined;
    if (this.#newest === undefined) this.#oldest = one;
    else this.#newest.later = one;
    this.#newest = one;
    if (this.#timer === undefined) this.#wake(this.#limitMs);
  }

  /** Does nothing for one that is not on the list. */
  end(one: Limited): void {
    if (this.#oldest !== one && one.earlier === undefined) return;
    if (one.earlier === undefined) this.#oldest = one.later;
    else one.earlier.later = one.later;
    if (one.later === undefined) this.#newest = one.earlier;
    else one.later.earlier = one.earlier;
    one.earlier = undefined;
    one.later = undefined;
  }

  /** The second one gets the rest of the time of the first one. */
  replace(first: Limited, second: Limited): void {
    second.expiresAt = first.expiresAt;
    second.earlier = first.earlier;
    second.later = first.later;
    if (second.earlier === undefined) this.#oldest = second;
    else second.earlier.later = second;
    if (second.later === undefined) this.#newest = second;
    else second.later.earlier = second;
    first.earlier = undefined;
    first.later = undefined;
  }

  clear(): void {
    while (this.#oldest !== undefined) this.end(this.#oldest);
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
  }

  /**
   * The timer is not moved when the oldest request ends: it fires, finds a younger one, and is set for that one. So
   * it fires about once per time limit, however many requests there are.
   */
  #wake(delayMs: number): void {
    this.#timer = this.#clock.setTimer(() => {
      this.#timer = undefined;
      const now = this.#clock.now();
      for (let one = this.#oldest; one !== undefined && one.expiresAt <= now; one = this.#oldest) {
        this.end(one);
        one.expire();
      }
      if (this.#oldest !== undefined && this.#timer === undefined) this.#wake(this.#oldest.expiresAt - now);
    }, delayMs);
  }
}

/** `no response within 1.5 s`, as reports count it. */
export function expiredReason(limitMs: number): string {
  return `no response within ${limitMs < 1000 ? `${limitMs} ms` : `${limitMs / 1000} s`}`;
}
