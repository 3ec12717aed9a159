/** Stands for a model on a GPU: it runs one batch at a time, and a batch of 8 takes little longer than one item. */
import { setTimeout as sleep } from 'node:timers/promises';

export const FEATURES = 16;

const BATCH_MS = 10;
const ITEM_MS = 0.25;

/** T(b): how long a batch of this size takes. */
export function batchMs(size: number): number {
  return BATCH_MS + ITEM_MS * size;
}

export class Model {
  batches = 0;
  items = 0;
  #lastBatch: Promise<void> = Promise.resolve();

  /** As many labels as rows, in the same order. */
  async run(rows: readonly (readonly number[])[]): Promise<number[]> {
    const previous = this.#lastBatch;
    const thisBatch = previous.then(() => sleep(batchMs(rows.length)));
    this.#lastBatch = thisBatch;
    await thisBatch;
    this.batches += 1;
    this.items += rows.length;
    return rows.map(labelOf);
  }
}

/** The quarter of the features with the largest sum. */
function labelOf(row: readonly number[]): number {
  const sums = [0, 4, 8, 12].map((from) => row.slice(from, from + 4).reduce((sum, value) => sum + value, 0));
  return sums.indexOf(Math.max(...sums));
}
