import { elementCount } from '../datatype.js';
import { malformed } from './message-error.js';

/** More than any model has: what works on tensors goes down a level for each. */
export const MOST_DIMENSIONS = 64;

/** So that the product of its lengths is a number of elements. */
export function checkShape(shape: readonly unknown[], where: string): asserts shape is readonly number[] {
  if (shape.length > MOST_DIMENSIONS)
    throw malformed(where, `expected at most ${MOST_DIMENSIONS} dimensions, got ${shape.length}.`);
  const isRight = shape.every((length) => Number.isSafeInteger(length) && (length as number) >= 0);
  if (isRight && elementCount(shape as readonly number[]) <= Number.MAX_SAFE_INTEGER) return;
  throw malformed(where, `expected whole numbers from 0 up, got [${shape.slice(0, 8).join(', ')}].`);
}
