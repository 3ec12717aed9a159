import { Heap, type HeapNode } from '../heap.js';

/** Callers with a deadline, a call of the handler, or `close({ timeoutMs })`. */
export interface Expiring extends HeapNode {
  readonly deadline: number;
  /** Updates a deadline that may be later now, and returns whether it is. Without this method it never changes. */
  update?(): boolean;
  expire(now: number): void;
}

/** Deadlines in order of time, so that one timer, set for the earliest, serves all of them. */
export class Deadlines {
  readonly #heap = new Heap<Expiring>((a, b) => a.deadline < b.deadline);

  /** Infinity when there is none. */
  get earliest(): number {
    return this.#first?.deadline ?? Number.POSITIVE_INFINITY;
  }

  add(expiring: Expiring): void {
    this.#heap.push(expiring);
  }

  /** Does nothing for a deadline that has expired. */
  remove(expiring: Expiring): void {
    this.#heap.remove(expiring);
  }

  /** Expires all that is due. An `expire()` may add and remove others. */
  expire(now: number): void {
    for (let first = this.#first; first !== undefined; first = this.#first) {
      if (first.deadline > now) return;
      this.#heap.remove(first);
      first.expire(now);
    }
  }

  get #first(): Expiring | undefined {
    let { first } = this.#heap;
    while (first?.update?.()) {
      this.#heap.update(first);
      first = this.#heap.first;
    }
    return first;
  }
}
