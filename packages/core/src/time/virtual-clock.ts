import { validMs } from '../errors/valid.js';
import { type Clock, realClock } from './clock.js';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock for tests. It moves only by `await clock.advance(10)`, which runs all timers of the next 10
 * virtual milliseconds, in order, and lets promises settle in between.
 */
export class VirtualClock implements Clock {
  #now = 0;
  #order = 0;
  readonly #timers = new Set<Timer>();
  #deferred: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  setTimer(callback: () => void, delayMs: number): unknown {
    const timer = { at: this.#now + Math.max(0, delayMs), order: this.#order++, callback };
    this.#timers.add(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    this.#timers.delete(timer as Timer);
  }

  defer(callback: () => void): void {
    this.#deferred.push(callback);
  }

  /** Timers that are set; 0 for an idle batcher. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /** Callbacks that are due at the end of the turn. */
  get pendingTurns(): number {
    return this.#deferred.length;
  }

  /** Ends the current turn, and the turns that follow from it, without moving time. */
  async settle(): Promise<void> {
    await promisesSettled();
    while (this.#deferred.length > 0) {
      const callbacks = this.#deferred;
      this.#deferred = [];
      for (const callback of callbacks) callback();
      await promisesSettled();
    }
  }

  async advance(ms: number): Promise<void> {
    validMs('advance(ms)', ms);
    const end = this.#now + ms;
    await this.settle();
    for (let timer = this.#nextTimer(end); timer !== undefined; timer = this.#nextTimer(end)) {
      this.#timers.delete(timer);
      this.#now = Math.max(this.#now, timer.at);
      timer.callback();
      await this.settle();
    }
    this.#now = Math.max(this.#now, end);
  }

  #nextTimer(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (timer.at > end) continue;
      if (next === undefined || timer.at < next.at || (timer.at === next.at && timer.order < next.order)) {
        next = timer;
      }
    }
    return next;
  }
}

/** A turn of the real event loop: promise chains of any length have run after it. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => realClock.defer(resolve));
}
