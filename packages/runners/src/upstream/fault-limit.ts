/**
 * Limits the search for a faulty request. A failure may be caused by one request, so the batch is bisected to find
 * it. After many consecutive failures the upstream itself is considered faulty, because bisecting would only multiply
 * its calls.
 */
import { BatchwiseError, type Clock } from 'batchwise';

/** Bisecting a batch of up to 1,000 requests with one faulty request causes fewer failures than this. */
const MAX_FAULTS = 12;
/** The search resumes after this time: every batch may contain a faulty request, and then no batch succeeds. */
const RESET_AFTER_MS = 1000;

export class FaultLimit {
  readonly #name: string;
  readonly #clock: Clock;
  #faults = 0;
  #limitReachedAt = Number.NEGATIVE_INFINITY;

  constructor(name: string, clock: Clock) {
    this.#name = name;
    this.#clock = clock;
  }

  succeeded(): void {
    this.#faults = 0;
  }

  /**
   * Returns the error itself, or above the limit an error for the whole batch. A `BatchwiseError` is always returned
   * as it is: INVALID_ITEM blames one request, and bisecting must find the right one.
   */
  classify(error: Error): Error {
    if (error instanceof BatchwiseError) return error;
    const now = this.#clock.now();
    if (this.#faults > MAX_FAULTS && now - this.#limitReachedAt >= RESET_AFTER_MS) this.#faults = 0;
    this.#faults += 1;
    if (this.#faults <= MAX_FAULTS) return error;
    if (this.#faults === MAX_FAULTS + 1) this.#limitReachedAt = now;
    return this.forWholeBatch(error);
  }

  /** Converts a failure to an error for every item of the batch. */
  forWholeBatch(error: Error): BatchwiseError {
    if (error instanceof BatchwiseError) return error;
    return new BatchwiseError('HANDLER_FAILED', `${this.#name}: ${error.message}`, { cause: error });
  }
}
