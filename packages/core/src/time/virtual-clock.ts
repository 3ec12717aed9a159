import { validWaitedMs } from '../errors/valid.js';
import { Heap, type HeapNode } from '../heap.js';
import { type Clock, realClock } from './clock.js';

interface Timer extends HeapNode {
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
  readonly #timers = new Heap<Timer>((a, b) => (a.at === b.at ? a.order < b.order : a.at < b.at));
  #deferred: (() => void)[] = [];

  now(): number {
    return this.#now;
  }

  setTimer(callback: () => void, delayMs: number): unknown {
    const timer = { at: this.#now + Math.max(0, delayMs), order: this.#order++, callback, heapIndex: -1 };
    this.#timers.push(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    if (timer !== undefined) this.#timers.remove(timer as Timer);
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
    validWaitedMs('advance(ms)', ms);
    const end = this.#now + ms;
    await this.settle();
    for (let timer = this.#timers.first; timer !== undefined && timer.at <= end; timer = this.#timers.first) {
      this.#timers.remove(timer);
      this.#now = Math.max(this.#now, timer.at);
      timer.callback();
      await this.settle();
    }
    this.#now = Math.max(this.#now, end);
  }
}

/** A turn of the real event loop: promise chains of any length have run after it. */
function promisesSettled(): Promise<void> {
  return new Promise((resolve) => realClock.defer(resolve));
}
