/**
 * Whether items of several groups come, lately. A `groupOf` that puts all of them into one group makes no difference: what
 * is known of arrivals is known of that group.
 */

/** After so many batches of one group in a row it is taken to be the only one. */
const LATELY = 64;

export class GroupMix {
  #latest: unknown = undefined;
  #batchesInARow = 0;
  #hasOthers = false;

  /** A batch of this group has left. */
  left(group: unknown): void {
    if (this.#batchesInARow > 0 && !Object.is(group, this.#latest)) {
      this.#hasOthers = true;
      this.#batchesInARow = 0;
    }
    this.#latest = group;
    this.#batchesInARow += 1;
    if (this.#batchesInARow > LATELY) this.#hasOthers = false;
  }

  get hasOthers(): boolean {
    return this.#hasOthers;
  }
}
