/** What a service curve keeps of one batch cost. */
export interface Bucket {
  readonly key: number;
  cost: number;
  durationMs: number;
  weight: number;
  /** The value of `samples` when the estimate was made, and when a batch of this cost was last recorded. */
  since: number;
  seenAt: number;
  /** Surprising batches of this cost in a row, all slower or all quicker. */
  surprises: number;
  isSlower: boolean;
  /** The estimate before a surprising batch replaced it. */
  formerMs: number | undefined;
}

/** Batches that an estimate remembers, so that it follows a backend that changes. */
export const MEMORY = 64;
/** Batches after which the estimate of a size is trusted: a single outlier no longer replaces it. */
export const SURE_WEIGHT = 3;
/** Batches after which a curve knows how much durations vary. */
export const TRUSTED_SAMPLES = 8;
