/** The outcome of a call to an upstream, for its callers and for the health of the upstream. */
import { BatchwiseError } from 'batchwise';

export type Outcome<T> = { readonly kind: 'answered'; readonly answer: T } | Failure;

export interface Failure {
  readonly kind: 'failed';
  /**
   * The reason, without the address of the upstream: the pool adds the name of the runner, and callers see it. A
   * `BatchwiseError` applies to every item of the batch, except INVALID_ITEM. Any other error may be caused by one
   * item, and the batch is bisected to find it.
   */
  readonly error: Error;
  /** The upstream was unreachable, closed the connection or did not respond. No request can be the cause. */
  readonly isOutage: boolean;
  /** The upstream has certainly not started the call, so a retry is safe. */
  readonly isUnseen: boolean;
  /** All callers of the batch had cancelled, which is no evidence about the upstream. */
  readonly isAbandoned: boolean;
}

/** The maximum size of a response. */
export const MAX_RESPONSE_BYTES = 2 ** 30;

export function answered<T>(answer: T): Outcome<T> {
  return { kind: 'answered', answer };
}

export function failed(error: Error): Failure {
  return { kind: 'failed', error, isOutage: false, isUnseen: false, isAbandoned: false };
}

export function outage(error: Error, isUnseen: boolean): Failure {
  return { ...failed(error), isOutage: true, isUnseen };
}

/** The response is invalid: the fault of the upstream, not of a request. */
export function unreadable(error: Error): Failure {
  const message = `invalid response: ${error.message}`;
  return failed(new BatchwiseError('BAD_RESULT', message, { cause: error }));
}

export function abandoned(): Failure {
  const error = new BatchwiseError('CANCELLED', 'all callers of the batch have cancelled.');
  return { ...failed(error), isAbandoned: true };
}

export function deadlineExceeded(timeoutMs: number): Failure {
  const message = `no response within ${Math.round(timeoutMs)} ms.`;
  return outage(new BatchwiseError('DEADLINE_EXCEEDED', message), false);
}

/** The reason for a connection failure, for callers. It contains no address: addresses are only in the cause. */
export function connectionLoss(cause: Error | undefined): string {
  const { code } = (cause ?? {}) as NodeJS.ErrnoException;
  return code === undefined ? 'the connection failed' : `the connection failed (${code})`;
}
