/** What requests are sent to: one interface for HTTP, gRPC, a queue in Redis and a function. */

export type OutcomeKind =
  | 'ok'
  /** The target sheds load: HTTP 429, gRPC RESOURCE_EXHAUSTED, `OVERLOADED`. Not a failure. */
  | 'rejected'
  | 'failed';

/** How one request ended. */
export interface Outcome {
  readonly kind: OutcomeKind;
  /** Why it is not ok, as reports count it: `503 Service Unavailable`, `ECONNREFUSED`, `no response within 1 s`. */
  readonly reason?: string;
  readonly responseBytes: number;
  /** The batch size in the response headers; undefined without them. */
  readonly batchSize?: number | undefined;
  readonly queueMs?: number | undefined;
  readonly computeMs?: number | undefined;
}

export interface Target {
  /** As reports name its requests: `POST /classify`. */
  readonly name: string;
  /**
   * What can be checked before the first request: that the address can be resolved and connected to, that the
   * method exists, that the data can be encoded.
   *
   * @throws {LoadError} UNREACHABLE, INVALID_OPTION
   */
  prepare(): Promise<void>;
  /**
   * Sends one request. `done` is called exactly once, not before `send` has returned, whatever happens: a target that
   * dies is an outcome. The number picks the sample data (`number` modulo the number of samples).
   */
  send(number: number, done: (outcome: Outcome) => void): void;
  /** Number of open connections. */
  readonly connections: number;
  /** Ends what is open. Requests that are under way end as failed. */
  close(): Promise<void>;
}
