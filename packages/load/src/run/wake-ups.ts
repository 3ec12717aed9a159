/** A heap of times, the earliest first; of equal times the one that was added first need not come first. */
export class WakeUps<T> {
  // Two arrays and not one of pairs: nothing is allocated per entry.
  readonly #times: number[] = [];
  readonly #items: T[] = [];

  /** Infinity when there is none. */
  get earliest(): number {
    return this.#times[0] ?? Number.POSITIVE_INFINITY;
  }

  get size(): number {
    return this.#times.length;
  }

  add(at: number, item: T): void {
    let index = this.#times.length;
    this.#times.push(at);
    this.#items.push(item);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((this.#times[parent] as number) <= at) break;
      this.#move(parent, index);
      index = parent;
    }
    this.#put(index, at, item);
  }

  /** Removes the earliest. There must be one. */
  take(): T {
    const first = this.#items[0] as T;
    const at = this.#times.pop() as number;
    const item = this.#items.pop() as T;
    const size = this.#times.length;
    if (size === 0) return first;
    let index = 0;
    for (let child = 1; child < size; child = 2 * index + 1) {
      if (child + 1 < size && (this.#times[child + 1] as number) < (this.#times[child] as number)) child++;
      if (at <= (this.#times[child] as number)) break;
      this.#move(child, index);
      index = child;
    }
    this.#put(index, at, item);
    return first;
  }

  clear(): void {
    this.#times.length = 0;
    this.#items.length = 0;
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#times[from] as number, this.#items[from] as T);
  }

  #put(index: number, at: number, item: T): void {
    this.#times[index] = at;
    this.#items[index] = item;
  }
}
