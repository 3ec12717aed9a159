/** What it means that an answer in JSON cannot be read. */
import type { MessageError } from '../open-inference/message-error.js';
import { hasNonFinite } from '../open-inference/non-finite.js';
import { type Failure, failed, unreadable } from './outcome.js';

/** Where there should be a number. Some servers, this project's own too, write NaN as null. */
const NULL = /[[,]\s*null\s*[\],]/;
/** As much as can be a text; a larger answer is hardly JSON. */
const LOOKED_AT_BYTES = 2 ** 26;

/**
 * Python's json and TensorFlow Serving write NaN and Infinity, which JSON does not have: one value that cannot be
 * computed makes the answer of the whole batch unreadable. So that is a fault like any other, and the batch is run
 * again in parts.
 */
export function unreadableJson(error: MessageError, body: Buffer): Failure {
  const text = body.subarray(0, LOOKED_AT_BYTES).toString('latin1');
  if (!hasNonFinite(text) && !NULL.test(text)) return unreadable(error);
  return failed(new Error('its answer has NaN or Infinity in it, which JSON cannot say.', { cause: error }));
}
