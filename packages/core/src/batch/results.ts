/** Checks of what a handler returned. */
import { describe, messageOf } from '../errors/describe.js';
import { BatchwiseError } from '../errors/errors.js';

/** The error for results of a wrong type or length; undefined for valid results. */
export function wrongResults(results: unknown, size: number, name: string): BatchwiseError | undefined {
  try {
    if (Array.isArray(results) && results.length === size) return undefined;
    if (isTypedArray(results) && results.length === size) return undefined;
    if (Array.isArray(results)) ignoreRejections(results);
  } catch {
    // A proxy or a getter that throws is no array of results.
  }
  const expected = `an array of ${size} results, one for each item, in order`;
  return new BatchwiseError(
    'BAD_RESULT',
    `${name}: the handler must return ${expected}, but returned ${describe(results)}.`,
  );
}

function isTypedArray(value: unknown): value is ArrayLike<unknown> {
  return ArrayBuffer.isView(value) && !(value instanceof DataView);
}

/** Prevents unhandled rejections of promises among results that are dropped. */
function ignoreRejections(results: readonly unknown[]): void {
  for (const result of results) if (result instanceof Promise) result.catch(() => {});
}

export function unreadable(thrown: unknown, name: string): BatchwiseError {
  const message = `${name}: the result of the item cannot be read: ${messageOf(thrown)}`;
  return new BatchwiseError('BAD_RESULT', message, { cause: thrown });
}

/** `items.map(async …)` without `Promise.all`: the slot would be free before the work is done. */
export function unawaited(result: PromiseLike<unknown>, name: string): BatchwiseError {
  ignoreRejections([result]);
  return new BatchwiseError(
    'BAD_RESULT',
    `${name}: the handler returned a promise as the result of an item; return await Promise.all(results) instead.`,
  );
}

/** The handler returned `context.answered` and has not answered all items. */
export function neverAnswered(name: string): BatchwiseError {
  return new BatchwiseError(
    'BAD_RESULT',
    `${name}: the handler returned context.answered without a call of context.answer() for this item.`,
  );
}
