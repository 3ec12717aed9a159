/** What a failed request means for the items in it. */
import { outageOf, type SdkError } from '@batchwise/aws';
import { BatchwiseError } from 'batchwise';

/** DynamoDB processed nothing, and would process it later. */
const THROTTLED = ['ProvisionedThroughputExceededException', 'ThrottlingException', 'RequestLimitExceeded'];

/** DynamoDB rejects a whole request because of one item. */
const REJECTED = ['ValidationException', 'ItemCollectionSizeLimitExceededException'];

const PAYLOAD_TOO_LARGE = 413;

export type Verdict = 'throttled' | 'invalid item' | 'failed';

export function verdictOn(thrown: unknown): Verdict {
  if (!(thrown instanceof Error)) return 'failed';
  const { name, code, cause, $metadata } = thrown as SdkError;
  if (THROTTLED.includes(name)) return 'throttled';
  if (REJECTED.includes(name) || $metadata?.httpStatusCode === PAYLOAD_TOO_LARGE) return 'invalid item';
  // The document client could not convert an attribute, sent or received. Errors of credentials and of connections have
  // a name, a code or a cause of their own, and are no item's fault.
  const isOfService = $metadata?.httpStatusCode !== undefined || code !== undefined || cause !== undefined;
  return !isOfService && /^(Type|Range)?Error$/.test(name) ? 'invalid item' : 'failed';
}

/** The error of a caller whose request failed for a reason that is not its item. */
export function failureOf(thrown: unknown, operation: string): Error {
  if (!(thrown instanceof Error)) return new Error(String(thrown));
  if (thrown instanceof BatchwiseError) return thrown;
  const { code, message, name } = thrown as SdkError;
  const outage = code === undefined ? outageOf(thrown) : 'cannot be reached';
  if (outage === undefined) return thrown;
  const what = outage === 'failed' ? `failed with ${name}` : outage;
  return new BatchwiseError('UNAVAILABLE', `${operation}: DynamoDB ${what}: ${message}`, { cause: thrown });
}

/** The error of a caller whose item cannot be sent, or was rejected. */
export function itemError(thrown: unknown, operation: string): BatchwiseError {
  if (thrown instanceof BatchwiseError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new BatchwiseError(
    'INVALID_ITEM',
    `${operation}: the item cannot be converted or was rejected: ${message}`,
    {
      cause: thrown,
    },
  );
}
