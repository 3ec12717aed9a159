/**
 * Ends calls that get no answer in time from a process that hangs. One timer for all, and no heap: the
 * other process says itself when a call is late, so here hardly any ever is.
 */
import type { Clock } from 'batchwise';
import { setUnrefTimer } from './unref-timer.js';

/** At most so often all calls are looked at. */
const RESOLUTION_MS = 50;

export class LateCalls {
  readonly #clock: Clock;
  readonly #endLate: (now: number) => number;
  #timer: unknown;
  #timerAt = Number.POSITIVE_INFINITY;

  /** `endLate` ends those that are late and says when the next will be; Infinity when there is none. */
  constructor(clock: Clock, endLate: (now: number) => number) {
    this.#clock = clock;
    this.#endLate = endLate;
  }

  expect(lateAt: number, now: number): void {
    // The other way round than one would ask it, for a time-out that is no number: the runner refuses the call.
    if (!(lateAt < this.#timerAt)) return;
    this.#clock.clearTimer(this.#timer);
    this.#timerAt = lateAt;
    this.#timer = setUnrefTimer(this.#clock, () => this.#look(), lateAt - now);
  }

  close(): void {
    this.#clock.clearTimer(this.#timer);
    this.#timerAt = Number.NEGATIVE_INFINITY;
  }

  #look(): void {
    const now = this.#clock.now();
    this.#timerAt = Number.POSITIVE_INFINITY;
    const next = this.#endLate(now);
    if (next < Number.POSITIVE_INFINITY) this.expect(Math.max(next, now + RESOLUTION_MS), now);
  }
}
