/** What is measured of one way of calling the model, between two moments; the rest is warm-up. */
import { BatchSizes } from './batch-sizes.js';
import { LatencyHistogram } from './latency-histogram.js';

export class Meter {
  readonly latency = new LatencyHistogram();
  readonly batchSizes: BatchSizes;
  readonly startsAt: number;
  readonly endsAt: number;
  /** Answers are checked from the first to the last, in the warm-up too. */
  checked = 0;
  wrong = 0;

  constructor(startsAt: number, endsAt: number, maxBatchSize: number) {
    this.startsAt = startsAt;
    this.endsAt = endsAt;
    this.batchSizes = new BatchSizes(maxBatchSize);
  }

  recordRequest(submittedAt: number, answeredAt: number, correct: boolean): void {
    this.checked += 1;
    if (!correct) this.wrong += 1;
    if (this.#covers(answeredAt)) this.latency.record(answeredAt - submittedAt);
  }

  recordBatch(size: number, answeredAt: number): void {
    if (this.#covers(answeredAt)) this.batchSizes.record(size);
  }

  /** NaN before the first moment that counts. */
  requestsPerSecond(now: number): number {
    const measuredMs = Math.min(now, this.endsAt) - this.startsAt;
    return measuredMs > 0 ? (1000 * this.latency.count) / measuredMs : Number.NaN;
  }

  #covers(moment: number): boolean {
    return moment >= this.startsAt && moment < this.endsAt;
  }
}
