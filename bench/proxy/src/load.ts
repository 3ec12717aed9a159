/** The load of a client process, and its results. */
export type Load = LoadTime &
  (
    | { readonly kind: 'closed'; readonly callers: number }
    /** Poisson arrivals, independent of the responses. */
    | { readonly kind: 'open'; readonly perSecond: number }
    /** Bursts of 1 to `mostItems` requests; each ends long before the next one. */
    | { readonly kind: 'bursts'; readonly mostItems: number; readonly everyMs: number }
  );

export interface LoadTime {
  readonly warmupMs: number;
  readonly timedMs: number;
}

export interface LoadReport {
  /** Responses in the timed part, per second. */
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Responses in the timed part. */
  readonly answered: number;
  /** All requests, including the warm-up. */
  readonly sent: number;
  /** Of all requests: rejected, failed, with a wrong response, or without a response. */
  readonly failed: number;
}
