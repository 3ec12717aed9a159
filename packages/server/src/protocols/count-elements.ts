import { badRequest } from '../request-error.js';
import { shapeText } from '../signature-check.js';

/** How many elements a shape that came in a request makes. */
export function countElements(shape: readonly number[], where: string): number {
  let elements = 1;
  for (const length of shape) elements *= length;
  // NaN too: 0 times what has become infinite.
  if (!(elements <= Number.MAX_SAFE_INTEGER)) {
    throw badRequest(where, `${shapeText(shape)} has more elements than a tensor can have.`);
  }
  return elements;
}
