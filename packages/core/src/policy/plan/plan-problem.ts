/** What a dispatch plan is made for, and what can be said of it before. */
export interface PlanProblem {
  /** Whether there is another slot. */
  readonly slots: 1 | 2;
  readonly maxBatchSize: number;
  /** Cost that arrives a millisecond. */
  readonly ratePerMs: number;
  /** The batch sizes worth considering besides "all that waits", rising. */
  readonly sizes: readonly number[];
  /** Those of them above which batches get less done. */
  readonly steps: readonly number[];
  durationMs(cost: number): number;
}

/** The size that gets most done a millisecond. */
export function quickestSize({
  sizes,
  maxBatchSize,
  durationMs,
}: Pick<PlanProblem, 'sizes' | 'maxBatchSize' | 'durationMs'>): number {
  let quickest = maxBatchSize;
  for (const size of sizes) if (size * durationMs(quickest) > quickest * durationMs(size)) quickest = size;
  return quickest;
}

/** How long the batches take that such traffic makes. */
export function usualDuration(
  {
    slots,
    ratePerMs,
    durationMs,
  }: Pick<PlanProblem, 'ratePerMs' | 'durationMs'> & { readonly slots: number },
  largest: number,
): number {
  let usualMs = durationMs(1);
  for (let i = 0; i < 20; i++) {
    usualMs = durationMs(Math.min(largest, Math.max(1, (ratePerMs * usualMs) / slots)));
  }
  return usualMs;
}
