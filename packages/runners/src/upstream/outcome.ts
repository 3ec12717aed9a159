/** How a call of an upstream ended, and what that says of the upstream. */
import { BatchwiseError } from 'batchwise';

export type Outcome<T> = { readonly kind: 'answered'; readonly answer: T } | Failure;

export interface Failure {
  readonly kind: 'failed';
  /**
   * What callers are told. A `BatchwiseError` is of everybody in the batch, but for INVALID_ITEM; any other may be
   * the fault of one of them, and the batch is run again in parts to find whose.
   */
  readonly error: Error;
  /** It could not be reached, went away, or did not answer: nothing that a request could be blamed for. */
  readonly isOutage: boolean;
  /** It certainly has not begun with it: the same call can be sent again. */
  readonly isUnseen: boolean;
}

export function answered<T>(answer: T): Outcome<T> {
  return { kind: 'answered', answer };
}

export function failed(error: Error): Failure {
  return { kind: 'failed', error, isOutage: false, isUnseen: false };
}

export function outage(error: Error, isUnseen: boolean): Failure {
  return { kind: 'failed', error, isOutage: true, isUnseen };
}

/** What came is no answer: the fault of the upstream, and of no request. */
export function unreadable(url: string, error: Error): Failure {
  const message = `${url}: its answer cannot be read: ${error.message}`;
  return failed(new BatchwiseError('BAD_RESULT', message, { cause: error }));
}

export function cancelled(url: string): Failure {
  return failed(new BatchwiseError('CANCELLED', `${url}: nobody waits for the answer any more.`));
}

export function tooLate(url: string, timeoutMs: number): Failure {
  const message = `${url} did not answer within ${Math.round(timeoutMs)} ms.`;
  return outage(new BatchwiseError('DEADLINE_EXCEEDED', message), false);
}
