/** Checks the datatype and the shape of a tensor in a message. */
import { DATATYPES, elementCount, isDatatype } from '../datatype.js';
import type { Datatype } from '../tensor.js';
import { malformed } from './message-error.js';
import { quoted } from './shown-value.js';

/** More dimensions than any model has. Code that walks a tensor recurses once per dimension. */
export const MAX_DIMENSIONS = 64;

/** Checks that the lengths are valid and that their product is a valid number of elements. */
export function checkShape(shape: readonly unknown[], where: string): asserts shape is readonly number[] {
  if (shape.length > MAX_DIMENSIONS)
    throw malformed(where, `expected at most ${MAX_DIMENSIONS} dimensions, got ${shape.length}.`);
  const isRight = shape.every((length) => Number.isSafeInteger(length) && (length as number) >= 0);
  if (isRight && elementCount(shape as readonly number[]) <= Number.MAX_SAFE_INTEGER) return;
  throw malformed(where, `expected whole numbers from 0 up, got [${shape.slice(0, 8).join(', ')}].`);
}

export function knownDatatype(datatype: unknown, where: string): Datatype {
  if (isDatatype(datatype)) return datatype;
  throw malformed(where, `expected one of ${DATATYPES.join(', ')}, got ${quoted(String(datatype))}.`);
}
