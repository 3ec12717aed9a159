/** How many digits the model got at once: the mean, and how often 1, 2, up to 4, up to 8 and so on. */
export class BatchSizes {
  /** The largest size that each bin counts. */
  readonly limits: readonly number[];
  readonly counts: number[];
  #batches = 0;
  #items = 0;

  constructor(maxBatchSize: number) {
    const bins = binOf(maxBatchSize) + 1;
    this.limits = Array.from({ length: bins }, (_, bin) => Math.min(2 ** bin, maxBatchSize));
    this.counts = this.limits.map(() => 0);
  }

  record(size: number): void {
    const bin = binOf(size);
    this.counts[bin] = (this.counts[bin] ?? 0) + 1;
    this.#batches += 1;
    this.#items += size;
  }

  /** NaN when there were none. */
  get mean(): number {
    return this.#items / this.#batches;
  }
}

function binOf(size: number): number {
  return Math.ceil(Math.log2(size));
}
