/**
 * Everything that must happen by a certain time: a caller's deadline, a handler's time-out, the end
 * of a patient close. A heap of times with the dead left in place until they come up or outnumber the
 * living, so that adding in order of time (the usual case) and letting go are O(1), and one timer,
 * set for the first time in the heap, serves them all.
 */
export interface Expiring {
  /** True once its time no longer matters. */
  readonly settled: boolean;
  expire(): void;
}

export class Deadlines {
  // Two arrays rather than one of pairs: times stay unboxed and nothing is allocated per entry.
  #times: number[] = [];
  #waiting: Expiring[] = [];
  #dead = 0;

  /** No later than the first time that matters; Infinity when there is none. */
  get earliest(): number {
    return this.#times[0] ?? Number.POSITIVE_INFINITY;
  }

  get size(): number {
    return this.#times.length;
  }

  add(at: number, expiring: Expiring): void {
    this.#times.push(at);
    this.#waiting.push(expiring);
    this.#rise(this.#times.length - 1);
  }

  /** To be called once by each that was added, when it is settled, in whatever way. */
  letGo(): void {
    this.#dead += 1;
    if (this.#dead > 64 && this.#dead * 2 > this.#times.length) this.#compact();
  }

  /** Expires all that is due. What expires may add more. */
  expire(now: number): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (first.settled) {
        this.#removeFirst();
        this.#dead -= 1;
      } else if (this.earliest <= now) {
        this.#removeFirst();
        this.#dead -= 1; // evened out by the letGo() that follows from expiring
        first.expire();
      } else break;
    }
  }

  clear(): void {
    if (this.#times.length === 0) return;
    this.#times = [];
    this.#waiting = [];
    this.#dead = 0;
  }

  #compact(): void {
    const times = this.#times;
    const waiting = this.#waiting;
    this.#times = [];
    this.#waiting = [];
    this.#dead = 0;
    for (let i = 0; i < times.length; i++) {
      const expiring = waiting[i] as Expiring;
      if (!expiring.settled) this.add(times[i] as number, expiring);
    }
  }

  #rise(from: number): void {
    let index = from;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((this.#times[parent] as number) <= (this.#times[index] as number)) return;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #removeFirst(): void {
    const last = this.#times.length - 1;
    this.#swap(0, last);
    this.#times.pop();
    this.#waiting.pop();
    let index = 0;
    for (let child = 1; child < last; child = 2 * index + 1) {
      if (child + 1 < last && (this.#times[child + 1] as number) < (this.#times[child] as number)) child += 1;
      if ((this.#times[index] as number) <= (this.#times[child] as number)) return;
      this.#swap(index, child);
      index = child;
    }
  }

  #swap(a: number, b: number): void {
    const time = this.#times[a] as number;
    const expiring = this.#waiting[a] as Expiring;
    this.#times[a] = this.#times[b] as number;
    this.#waiting[a] = this.#waiting[b] as Expiring;
    this.#times[b] = time;
    this.#waiting[b] = expiring;
  }
}
