/**
 * Latencies in buckets that grow by 2 %. Keeping and sorting every single one at each repaint would
 * slow down the very callers that are being measured.
 */
const BUCKETS_PER_DOUBLING = 32;
const SHORTEST_MS = 0.001;

export class LatencyHistogram {
  readonly #buckets: number[] = [];
  count = 0;
  maxMs = 0;

  record(ms: number): void {
    const bucket = Math.round(Math.log2(Math.max(ms, SHORTEST_MS) / SHORTEST_MS) * BUCKETS_PER_DOUBLING);
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.count += 1;
    this.maxMs = Math.max(this.maxMs, ms);
  }

  /** The latency that `percent` of all requests stayed within; NaN when there were none. */
  percentileMs(percent: number): number {
    const rank = Math.ceil((this.count * percent) / 100);
    let seen = 0;
    for (let bucket = 0; bucket < this.#buckets.length; bucket += 1) {
      seen += this.#buckets[bucket] ?? 0;
      if (seen >= rank && seen > 0) {
        return Math.min(SHORTEST_MS * 2 ** (bucket / BUCKETS_PER_DOUBLING), this.maxMs);
      }
    }
    return Number.NaN;
  }
}
