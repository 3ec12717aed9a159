/** Virtual time for the simulator: the production batcher runs on it unchanged, much faster than in real time. */
import type { Clock } from 'batchwise';

interface Timer {
  readonly at: number;
  readonly order: number;
  callback: (() => void) | undefined;
}

export class SimulatedClock implements Clock {
  /** Timers are rounded up to a multiple of this, as those of the real clock are. */
  readonly timerResolutionMs: number;
  #now = 0;
  #order = 0;
  /** A binary heap; cleared timers stay until they are due. */
  readonly #timers: Timer[] = [];
  #deferred: (() => void)[] = [];

  constructor(timerResolutionMs = 0) {
    this.timerResolutionMs = timerResolutionMs;
  }

  now(): number {
    return this.#now;
  }

  setTimer(callback: () => void, delayMs: number): unknown {
    const step = this.timerResolutionMs;
    // setTimeout rounds up to whole steps, at least one.
    const delay = step === 0 ? Math.max(0, delayMs) : step * Math.max(1, Math.ceil(delayMs / step));
    return this.at(this.#now + delay, callback);
  }

  clearTimer(timer: unknown): void {
    (timer as Timer).callback = undefined;
  }

  defer(callback: () => void): void {
    this.#deferred.push(callback);
  }

  /** Calls back at exactly this time: simulated events have no timer resolution. */
  at(at: number, callback: () => void): unknown {
    const timer: Timer = { at, order: this.#order++, callback };
    const heap = this.#timers;
    let i = heap.length;
    heap.push(timer);
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(timer, heap[parent] as Timer)) break;
      heap[i] = heap[parent] as Timer;
      i = parent;
    }
    heap[i] = timer;
    return timer;
  }

  /** The time of the next timer; Infinity when none is set. */
  get nextAt(): number {
    const heap = this.#timers;
    while (heap.length > 0 && (heap[0] as Timer).callback === undefined) this.#pop();
    return heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  moveTo(at: number): void {
    this.#now = Math.max(this.#now, at);
  }

  /** Runs the timers that are due. */
  runDue(): void {
    while (this.nextAt <= this.#now) {
      this.#pop().callback?.();
    }
  }

  /** Runs deferred callbacks until none is left: the end of an event-loop turn. */
  endTurn(): void {
    while (this.#deferred.length > 0) {
      const callbacks = this.#deferred;
      this.#deferred = [];
      for (const callback of callbacks) callback();
    }
  }

  #pop(): Timer {
    const heap = this.#timers;
    const first = heap[0] as Timer;
    const last = heap.pop() as Timer;
    const { length } = heap;
    if (length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= length) break;
      if (child + 1 < length && isBefore(heap[child + 1] as Timer, heap[child] as Timer)) child += 1;
      if (!isBefore(heap[child] as Timer, last)) break;
      heap[i] = heap[child] as Timer;
      i = child;
    }
    heap[i] = last;
    return first;
  }
}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at === b.at ? a.order < b.order : a.at < b.at;
}
