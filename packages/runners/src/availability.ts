/** Whether a backend that is elsewhere can be asked: it comes and goes while its runner stays. */
export interface Availability {
  /** Why it cannot be asked now; undefined while it can. */
  readonly outage: Error | undefined;
  /** Calls the listener whenever that may have changed; returns a function that ends it. */
  onChange(listener: () => void): () => void;
}
