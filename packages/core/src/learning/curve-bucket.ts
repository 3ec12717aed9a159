/** All batches of about one cost, as a service curve remembers them. */
export interface Bucket {
  readonly key: number;
  cost: number;
  durationMs: number;
  weight: number;
  /** How many batches had been seen when the first of this cost was. */
  readonly since: number;
  /** How many batches had been seen when it last was one of this cost. */
  seenAt: number;
}
