import type { CounterChild } from './counter.js';

/** Updates counters from totals that are kept elsewhere. A total that restarts does not reset its counter. */
export class RunningTotals {
  /** By the name of the total, not by counter: above the limit on label sets several totals share a counter. */
  readonly #totals = new Map<string, number>();

  follow(counter: CounterChild, what: string, total: number): void {
    const before = this.#totals.get(what) ?? 0;
    counter.inc(total >= before ? total - before : total);
    this.#totals.set(what, total);
  }
}
