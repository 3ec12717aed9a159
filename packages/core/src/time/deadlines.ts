import { Heap, type HeapNode } from '../queue/heap.js';

/** Something that ends at a given time unless it is removed first: callers with a deadline, a call of the handler, `close({ timeoutMs })`. */
export interface Expiring extends HeapNode {
  readonly deadline: number;
  expire(): void;
}

/** Deadlines in order of time, so that one timer, set for the earliest, serves all of them. */
export class Deadlines {
  readonly #heap = new Heap<Expiring>((a, b) => a.deadline < b.deadline);

  /** Infinity when there is none. */
  get earliest(): number {
    return this.#heap.first?.deadline ?? Number.POSITIVE_INFINITY;
  }

  add(expiring: Expiring): void {
    this.#heap.push(expiring);
  }

  /** Does nothing for a deadline that has expired. */
  remove(expiring: Expiring): void {
    if (expiring.heapIndex >= 0) this.#heap.remove(expiring);
  }

  /** Expires all that is due. An `expire()` may add and remove others. */
  expire(now: number): void {
    for (let first = this.#heap.first; first !== undefined; first = this.#heap.first) {
      if (first.deadline > now) return;
      this.#heap.remove(first);
      first.expire();
    }
  }
}
