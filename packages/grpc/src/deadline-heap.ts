import type { Clock } from 'batchwise';
import { unreferenced } from './expiry-line.js';

/** What waits for a moment of its own. */
export interface Due {
  dueAt: number;
  /** True once nobody waits for it any more; it is dropped when its turn comes. */
  readonly isOver: boolean;
  due(): void;
}

/** Any number of deadlines on one timer. Those that are over stay until they surface or outnumber the rest. */
export class DeadlineHeap {
  readonly #clock: Clock;
  #heap: Due[] = [];
  #rebuildAt = 64;
  #timer: unknown;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#heap.length;
  }

  add(one: Due): void {
    if (this.#heap.length >= this.#rebuildAt) this.#dropOver();
    this.#heap.push(one);
    this.#rise(this.#heap.length - 1);
    if (one.dueAt < this.#timerAt) this.#setTimer(one.dueAt);
  }

  clear(): void {
    this.#heap = [];
    this.#clearTimer();
  }

  #fire(): void {
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (!first.isOver && first.dueAt > now) break;
      this.#removeFirst();
      if (!first.isOver) first.due();
    }
    const next = this.#heap[0];
    if (next !== undefined && next.dueAt < this.#timerAt) this.#setTimer(next.dueAt);
  }

  #setTimer(at: number): void {
    this.#clearTimer();
    this.#timerAt = at;
    this.#timer = unreferenced(this.#clock.setTimer(() => this.#fire(), Math.max(0, at - this.#clock.now())));
  }

  #clearTimer(): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#timerAt = Number.POSITIVE_INFINITY;
  }

  #dropOver(): void {
    const waiting = this.#heap.filter((one) => !one.isOver);
    // Sorted is a heap, too.
    this.#heap = waiting.sort((a, b) => a.dueAt - b.dueAt);
    this.#rebuildAt = Math.max(64, 2 * waiting.length);
  }

  #removeFirst(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#sink(0);
  }

  #rise(from: number): void {
    const heap = this.#heap;
    const one = heap[from] as Due;
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent] as Due;
      if (above.dueAt <= one.dueAt) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = one;
  }

  #sink(from: number): void {
    const heap = this.#heap;
    const one = heap[from] as Due;
    let index = from;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as Due).dueAt < (heap[child] as Due).dueAt) child++;
      const below = heap[child] as Due;
      if (below.dueAt >= one.dueAt) break;
      heap[index] = below;
      index = child;
    }
    heap[index] = one;
  }
}
