/** What a failed request, or a failed entry of a request, means for the items in it. */
import { BatchwiseError } from 'batchwise';

/** The fields of the SDK's errors that matter here. */
export interface SdkError extends Error {
  /** A status says that the service answered. */
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $fault?: 'client' | 'server';
  /** Of Node's errors: why a connection failed. */
  readonly code?: string;
}

/** An entry that failed, as SQS and SNS describe it. */
export interface FailedEntry {
  readonly Id: string | undefined;
  readonly Code: string | undefined;
  readonly Message?: string | undefined;
  readonly SenderFault: boolean | undefined;
}

const THROTTLED = /Throttl/;

/** What callers are told to wait for after a throttled request: the limits of the services are per second. */
const THROTTLED_RETRY_MS = 1000;

/** What is wrong with the service; undefined if the error is about the request. */
export function outageOf(thrown: Error): 'cannot be reached' | 'failed' | undefined {
  const { $metadata, $fault } = thrown as SdkError;
  if ($metadata !== undefined && $metadata.httpStatusCode === undefined) return 'cannot be reached';
  return $fault === 'server' ? 'failed' : undefined;
}

/** The errors of a service whose batch requests have an answer for each entry. */
export class ServiceErrors {
  readonly #service: string;
  readonly #rejected: RegExp;

  /** `rejected`: names of the errors by which the service rejects a whole request because of one entry. */
  constructor(service: string, rejected: RegExp) {
    this.#service = service;
    this.#rejected = rejected;
  }

  isRejection(thrown: unknown): boolean {
    return thrown instanceof Error && this.#rejected.test(thrown.name);
  }

  /**
   * The error of a caller whose request failed: `INVALID_ITEM` if the service rejects it, `UNAVAILABLE` if the service
   * cannot be reached or fails, `OVERLOADED` if it throttles, else the SDK's own.
   */
  failureOf(thrown: unknown, operation: string): Error {
    if (!(thrown instanceof Error)) return new Error(String(thrown));
    const text = `${operation}: ${thrown.name}: ${thrown.message}`;
    if (this.isRejection(thrown)) return new BatchwiseError('INVALID_ITEM', text, { cause: thrown });
    if (THROTTLED.test(thrown.name)) return throttled(text, thrown);
    const outage = outageOf(thrown);
    if (outage === undefined) return thrown;
    const message = `${operation}: ${this.#service} ${outage}: ${thrown.message}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause: thrown });
  }

  /** The error of one entry. Its `cause` is the entry of the answer, with the service's own `Code`. */
  entryFailure(entry: FailedEntry, operation: string): BatchwiseError {
    const { Code = 'Unknown', Message = 'no reason given', SenderFault } = entry;
    const message = `${operation}: ${Code}: ${Message}`;
    if (THROTTLED.test(Code)) return throttled(message, entry);
    return new BatchwiseError(SenderFault ? 'INVALID_ITEM' : 'UNAVAILABLE', message, { cause: entry });
  }

  /** The service has answered the request, but not for this entry. */
  missingEntry(operation: string): BatchwiseError {
    const message = `${operation}: the answer of ${this.#service} has no entry for this message.`;
    return new BatchwiseError('BAD_RESULT', message);
  }
}

function throttled(message: string, cause: unknown): BatchwiseError {
  return new BatchwiseError('OVERLOADED', message, { retryAfterMs: THROTTLED_RETRY_MS, cause });
}
