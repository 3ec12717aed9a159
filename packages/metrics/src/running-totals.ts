import type { CounterChild } from './counter.js';

/** Counters that follow totals kept elsewhere, and go on counting when those begin anew. */
export class RunningTotals {
  /** By what they are totals of, not by counter: beyond the bound several share one. */
  readonly #totals = new Map<string, number>();

  follow(counter: CounterChild, what: string, total: number): void {
    const before = this.#totals.get(what) ?? 0;
    counter.inc(total >= before ? total - before : total);
    this.#totals.set(what, total);
  }
}
