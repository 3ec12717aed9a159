/** The running batches of one batcher, and the prefetched ones, which no backend has started: see `readsAhead`. */
import type { RunningBatch } from './running-batch.js';

export class RunningBatches {
  readonly all: RunningBatch[] = [];
  /** Batches that no backend has started. */
  #prefetched = 0;

  get busySlots(): number {
    return this.all.length - this.#prefetched;
  }

  add(batch: RunningBatch): void {
    if (batch.isPrefetched) this.#prefetched += 1;
    batch.index = this.all.length;
    this.all.push(batch);
  }

  /** Removes a batch that ended. Its backend starts the prefetched batch. */
  remove({ index, isPrefetched, runsOn }: RunningBatch, now: number): void {
    const last = this.all.pop() as RunningBatch;
    if (last.index !== index) {
      this.all[index] = last;
      last.index = index;
    }
    if (isPrefetched) this.#prefetched -= 1;
    else if (this.#prefetched > 0) {
      const next = this.all.find((batch) => batch.isPrefetched && batch.runsOn === runsOn);
      if (next === undefined) return;
      this.#prefetched -= 1;
      next.begin(now);
    }
  }
}
