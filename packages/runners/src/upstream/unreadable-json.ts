/** The failure for a JSON response that cannot be parsed. */
import type { MessageError } from '../open-inference/message-error.js';
import { hasNonFinite } from '../open-inference/non-finite.js';
import { type Failure, failed, unreadable } from './outcome.js';

/** Null in place of a number. Some servers, including this project's own, write NaN as null. */
const NULL = /[[,]\s*null\s*[\],]/;
/** Only this much of the response is searched: a larger response is hardly JSON. */
const MAX_SEARCHED_BYTES = 2 ** 26;

/**
 * Python's json and TensorFlow Serving write NaN and Infinity, which are not valid JSON: one such value makes the
 * response of the whole batch invalid. The batch is then bisected, as for any failure that one item may cause.
 */
export function unreadableJson(error: MessageError, body: Buffer): Failure {
  const text = body.subarray(0, MAX_SEARCHED_BYTES).toString('latin1');
  if (!hasNonFinite(text) && !NULL.test(text)) return unreadable(error);
  return failed(
    new Error('its response contains NaN or Infinity, which JSON cannot represent.', { cause: error }),
  );
}
