/** The availability of a remote backend. It may change while its runner is open. */
export interface Availability {
  /** Why the backend is unavailable; undefined while it is available. */
  readonly outage: Error | undefined;
  /** Calls the listener when the availability may have changed. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}
