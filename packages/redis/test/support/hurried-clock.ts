/** The real clock, which a test can put forward: what falls due meanwhile comes at once. */
import { type Clock, realClock } from 'batchwise';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
  readonly real: unknown;
}

export class HurriedClock implements Clock {
  #ahead = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return realClock.now() + this.#ahead;
  }

  setTimer(callback: () => void, delayMs: number): unknown {
    const timer: Timer = {
      at: this.now() + delayMs,
      callback,
      real: realClock.setTimer(() => this.#fire(timer), delayMs),
    };
    this.#timers.add(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    if (this.#timers.delete(timer as Timer)) realClock.clearTimer((timer as Timer).real);
  }

  defer(callback: () => void): void {
    realClock.defer(callback);
  }

  hurry(ms: number): void {
    const until = this.now() + ms;
    for (;;) {
      const due = [...this.#timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (due === undefined) break;
      this.#ahead += Math.max(0, due.at - this.now());
      realClock.clearTimer(due.real);
      this.#fire(due);
    }
    this.#ahead += Math.max(0, until - this.now());
  }

  #fire(timer: Timer): void {
    if (this.#timers.delete(timer)) timer.callback();
  }
}
