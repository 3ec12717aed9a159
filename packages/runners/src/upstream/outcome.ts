/** How a call of an upstream ended, and what that says of the upstream. */
import { BatchwiseError } from 'batchwise';

export type Outcome<T> = { readonly kind: 'answered'; readonly answer: T } | Failure;

export interface Failure {
  readonly kind: 'failed';
  /**
   * Why, in words that do not say where the upstream is: the pool adds whose it is, and tells the callers. A
   * `BatchwiseError` is of everybody in the batch, but for INVALID_ITEM; any other may be the fault of one of them,
   * and the batch is run again in parts to find whose.
   */
  readonly error: Error;
  /** It could not be reached, went away, or did not answer: nothing that a request could be blamed for. */
  readonly isOutage: boolean;
  /** It certainly has not begun with it: the same call can be sent again. */
  readonly isUnseen: boolean;
  /** Its callers had gone, for whatever reason: by itself it says nothing of the upstream. */
  readonly isAbandoned: boolean;
}

export function answered<T>(answer: T): Outcome<T> {
  return { kind: 'answered', answer };
}

export function failed(error: Error): Failure {
  return { kind: 'failed', error, isOutage: false, isUnseen: false, isAbandoned: false };
}

export function outage(error: Error, isUnseen: boolean): Failure {
  return { ...failed(error), isOutage: true, isUnseen };
}

/** What came is no answer: the fault of the upstream, and of no request. */
export function unreadable(error: Error): Failure {
  const message = `its answer cannot be read: ${error.message}`;
  return failed(new BatchwiseError('BAD_RESULT', message, { cause: error }));
}

export function abandoned(): Failure {
  const error = new BatchwiseError('CANCELLED', 'nobody waits for the answer any more.');
  return { ...failed(error), isAbandoned: true };
}

export function tooLate(timeoutMs: number): Failure {
  const message = `no answer came within ${Math.round(timeoutMs)} ms.`;
  return outage(new BatchwiseError('DEADLINE_EXCEEDED', message), false);
}
