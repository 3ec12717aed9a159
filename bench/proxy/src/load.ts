/** What a client process is to do, and what became of it. */
export type Load = LoadTime &
  (
    | { readonly kind: 'closed'; readonly callers: number }
    /** Poisson arrivals, whether or not the earlier ones are answered. */
    | { readonly kind: 'open'; readonly perSecond: number }
    /** One to so many at once, then none until all of that is long done. */
    | { readonly kind: 'bursts'; readonly mostItems: number; readonly everyMs: number }
  );

export interface LoadTime {
  readonly warmupMs: number;
  readonly timedMs: number;
}

export interface LoadReport {
  /** Answered in the timed part, a second. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Answered in the timed part. */
  readonly answered: number;
  /** All that were sent, warm-up included. */
  readonly sent: number;
  /** Of all that were sent: refused, failed, answered with something else, or not answered. */
  readonly failed: number;
}
