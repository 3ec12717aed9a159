/**
 * Requests that wait for an answer, oldest first. A list whose links are its members', and not a `Set`: with
 * one, under load, a quick collection of the garbage took 5.8 ms instead of 1.5, and kept far more alive.
 */
export interface Waiting {
  olderOne: this | undefined;
  newerOne: this | undefined;
}

export class Unanswered<T extends Waiting> implements Iterable<T> {
  size = 0;
  #oldest: T | undefined;
  #newest: T | undefined;

  get oldest(): T | undefined {
    return this.#oldest;
  }

  add(one: T): void {
    one.olderOne = this.#newest;
    if (this.#newest === undefined) this.#oldest = one;
    else this.#newest.newerOne = one;
    this.#newest = one;
    this.size += 1;
  }

  /** It must be in it. */
  delete(one: T): void {
    const { olderOne, newerOne } = one;
    if (olderOne === undefined) this.#oldest = newerOne;
    else olderOne.newerOne = newerOne;
    if (newerOne === undefined) this.#newest = olderOne;
    else newerOne.olderOne = olderOne;
    one.olderOne = undefined;
    one.newerOne = undefined;
    this.size -= 1;
  }

  /** Whoever is asked may be gone from it then. */
  *[Symbol.iterator](): Generator<T> {
    for (let one = this.#oldest; one !== undefined; ) {
      const next: T | undefined = one.newerOne;
      yield one;
      one = next;
    }
  }
}
