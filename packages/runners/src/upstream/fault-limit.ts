/**
 * When to stop looking for the guilty. A fault may be one request's, and its batch is run again in parts to find
 * whose; so many in a row are those of the upstream, and then it would only get more calls than ever.
 */
import { BatchwiseError, type Clock } from 'batchwise';

/** Halving a batch with one guilty request has fewer, up to a batch of 1,000. */
const MOST_FAULTS = 12;
/** After so long the guilty are looked for again: in every batch there may be one, and then none succeeds. */
const FORGET_MS = 1000;

export class FaultLimit {
  readonly #name: string;
  readonly #clock: Clock;
  #faults = 0;
  #gaveUpAt = Number.NEGATIVE_INFINITY;

  /** `name` is that of the runner. */
  constructor(name: string, clock: Clock) {
    this.#name = name;
    this.#clock = clock;
  }

  succeeded(): void {
    this.#faults = 0;
  }

  /**
   * The error itself, or one of everybody in the batch instead. What the upstream blames on a request is looked for
   * always: its callers are told that they were wrong, which must be true.
   */
  judged(error: Error): Error {
    if (error instanceof BatchwiseError) return error;
    const now = this.#clock.now();
    if (this.#faults > MOST_FAULTS && now - this.#gaveUpAt >= FORGET_MS) this.#faults = 0;
    this.#faults += 1;
    if (this.#faults <= MOST_FAULTS) return error;
    if (this.#faults === MOST_FAULTS + 1) this.#gaveUpAt = now;
    return this.ofAll(error);
  }

  /** A fault as the answer to everybody in the batch. */
  ofAll(error: Error): BatchwiseError {
    if (error instanceof BatchwiseError) return error;
    return new BatchwiseError('HANDLER_FAILED', `${this.#name}: ${error.message}`, { cause: error });
  }
}
