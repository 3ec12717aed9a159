/** How far a list is done without a gap, when its elements are done in any order. */
export class Contiguous {
  readonly #ahead = new Set<number>();
  #length = 0;

  /** All elements before this index are done. */
  get length(): number {
    return this.#length;
  }

  done(index: number): void {
    this.#ahead.add(index);
    while (this.#ahead.delete(this.#length)) this.#length += 1;
  }
}
