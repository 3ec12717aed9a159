/** What the batches of a processor were like: how much an item costs, and how much gets done. */
import type { CurvePoint } from 'batchwise';

/** Batches that take no time at all say nothing about how many there could be a second. */
const LEAST_MS = 0.1;

export class Workload {
  #items = 0;
  #cost = 0;

  ran(items: number, cost: number): void {
    this.#items += items;
    this.#cost += cost;
  }

  /** About how many items make a batch of this cost. */
  itemsWithin(maxBatchSize: number): number {
    if (this.#items === 0) return maxBatchSize;
    return Math.max(1, Math.ceil((maxBatchSize * this.#items) / this.#cost));
  }

  /** Items a second that so many slots get done with batches of `items`; 0 as long as none of about that size was seen. */
  ratePerSecond(curve: readonly CurvePoint[], items: number, slots: number): number {
    const meanCost = this.#cost / this.#items;
    // Small batches say nothing about what large ones get done: a rate that is too low would refuse callers for nothing.
    const large = (items * meanCost) / 2;
    let costPerMs = 0;
    for (const { cost, durationMs } of curve) {
      if (cost >= large) costPerMs = Math.max(costPerMs, cost / Math.max(durationMs, LEAST_MS));
    }
    return costPerMs === 0 ? 0 : (1000 * costPerMs * slots) / meanCost;
  }
}
