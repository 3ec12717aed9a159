/** The handler of every contender in Node: answers the items, at once or after a time, and keeps books. */
import { nowMs, pauseMs, percentile } from '@batchwise/bench-harness';
import type { Item } from './item.js';

export type BatchHandler = (items: readonly Item[]) => Promise<readonly Item[]>;

export interface HandlerReport {
  readonly items: number;
  readonly batches: number;
  /** How long a batch really took: a timer of 5 ms takes longer than 5 ms. */
  readonly handlerP50Ms: number;
}

export class CountedHandler {
  readonly #batchMs: number;
  readonly #tookMs: number[] = [];
  #items = 0;
  #batches = 0;

  /** `batchMs` is what a batch takes, whatever its size; 0 answers at once. */
  constructor(batchMs: number) {
    this.#batchMs = batchMs;
  }

  readonly handle: BatchHandler = async (items) => {
    this.#items += items.length;
    this.#batches += 1;
    if (this.#batchMs > 0 && !items.every(({ isHeat }) => isHeat)) {
      const startedAt = nowMs();
      await pauseMs(this.#batchMs);
      this.#tookMs.push(nowMs() - startedAt);
    }
    return items;
  };

  report(): HandlerReport {
    const handlerP50Ms = this.#batchMs === 0 ? 0 : percentile(this.#tookMs, 0.5);
    return { items: this.#items, batches: this.#batches, handlerP50Ms };
  }
}
