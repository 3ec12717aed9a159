/**
 * Calls by their ids, made so that an id's place in an array can be told from it. Like a `Map`, but it is
 * never rebuilt: the tables that a map leaves behind keep what they held through all the quick collections
 * of the garbage collector, which comes to every call there ever was.
 */
export class CallTable<T> {
  size = 0;
  readonly #ids: number[] = [];
  readonly #calls: (T | undefined)[] = [];
  readonly #free: number[] = [];
  #round = 0;
  /** Whether it is this one that makes the ids, or another process. */
  #makesIds = false;

  /** One that is not in use; the same place is not told by the same id twice. */
  nextId(): number {
    this.#makesIds = true;
    const place = this.#free.pop() ?? this.#calls.length;
    // An id need only not come back while an answer to its last call may still be under way.
    this.#round = (this.#round + 1) % ROUNDS;
    return this.#round * PLACES + place;
  }

  get(id: number): T | undefined {
    const place = id % PLACES;
    return this.#ids[place] === id ? this.#calls[place] : undefined;
  }

  set(id: number, call: T): void {
    const place = id % PLACES;
    while (this.#calls.length <= place) {
      this.#ids.push(-1);
      this.#calls.push(undefined);
    }
    if (this.#calls[place] === undefined) this.size += 1;
    this.#ids[place] = id;
    this.#calls[place] = call;
  }

  delete(id: number): boolean {
    const place = id % PLACES;
    if (this.#ids[place] !== id) return false;
    this.#ids[place] = -1;
    this.#calls[place] = undefined;
    if (this.#makesIds) this.#free.push(place);
    this.size -= 1;
    return true;
  }

  /** All at this moment. */
  values(): T[] {
    return this.#calls.filter((call) => call !== undefined);
  }
}

/** More calls than this cannot be open at a time. */
const PLACES = 2 ** 20;
const ROUNDS = 2 ** 31;
