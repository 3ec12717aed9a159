/** What a dispatch plan is made for. */
export interface PlanProblem {
  /** 2 if there is another slot. */
  readonly slots: 1 | 2;
  readonly maxBatchSize: number;
  /** The cost that arrives per millisecond. */
  readonly ratePerMs: number;
  /** The batch sizes to consider besides all queued items, rising. */
  readonly sizes: readonly number[];
  /** Those of them above which throughput drops. */
  readonly steps: readonly number[];
  /** The size with the highest throughput. */
  readonly bestSize: number;
  durationMs(cost: number): number;
}

/** The duration of the batches that such traffic makes, up to the best size. */
export function usualDuration({ slots, ratePerMs, bestSize, durationMs }: PlanProblem): number {
  let usualMs = durationMs(1);
  for (let i = 0; i < 20; i++) {
    usualMs = durationMs(Math.min(bestSize, Math.max(1, (ratePerMs * usualMs) / slots)));
  }
  return usualMs;
}
