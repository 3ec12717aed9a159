/** A tensor out of JSON arrays, flat or nested as its shape says. */
import type { Datatype, Tensor } from '../tensor.js';
import { type Elements, newElements, refusalOf } from './elements-from-json.js';
import { type JsonPlace, placeAt } from './json-place.js';
import { malformed } from './message-error.js';
import { shownValue } from './shown-value.js';

/** What is to become a tensor: its shape has been checked, `elements` is how many that makes. */
export interface JsonTensor {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  readonly elements: number;
  readonly place: JsonPlace;
}

export function tensorFromFlatJson(tensor: JsonTensor, values: readonly unknown[]): Tensor {
  const { datatype, shape, elements, place } = tensor;
  if (values.length !== elements) {
    throw malformed(
      place.root,
      `expected ${elements} elements for the shape [${shape.join(', ')}], got ${values.length}.`,
    );
  }
  const { data, fill } = newElements(datatype, elements);
  const refused = fill(values, 0);
  if (refused >= 0) {
    throw malformed(placeAt(place, [refused]), refusalOf(datatype, values[refused]));
  }
  return { datatype, shape, data };
}

/**
 * `most` is more elements than the body can have; without it a few brackets could ask for all the memory
 * there is, because the whole tensor is there before its last rows are seen to be short.
 */
export function tensorFromNestedJson(tensor: JsonTensor, values: readonly unknown[], most: number): Tensor {
  const { datatype, shape, elements, place } = tensor;
  if (elements > most) {
    throw malformed(
      place.root,
      `expected ${elements} elements for the shape [${shape.join(', ')}], got fewer.`,
    );
  }
  const filled = newElements(datatype, elements);
  fillLevel(tensor, filled, values, [], 0, 0);
  return { datatype, shape, data: filled.data };
}

/**
 * Fills what is in `values`, which are at `path` up to `level`, and answers with where that ends. As deep
 * as the shape is long. One `path` for all: it is only read when something is wrong.
 */
function fillLevel(
  tensor: JsonTensor,
  filled: Elements,
  values: unknown,
  path: number[],
  level: number,
  at: number,
): number {
  const { datatype, shape, place } = tensor;
  const length = shape[level];
  if (!Array.isArray(values) || values.length !== length) {
    const where = placeAt(place, path.slice(0, level));
    throw malformed(where, `expected an array of ${length}, got ${shownValue(values)}.`);
  }
  if (level === shape.length - 1) {
    const refused = filled.fill(values, at);
    if (refused >= 0) {
      const where = placeAt(place, [...path.slice(0, level), refused]);
      throw malformed(where, refusalOf(datatype, values[refused]));
    }
    return at + values.length;
  }
  let end = at;
  for (let index = 0; index < values.length; index++) {
    path[level] = index;
    end = fillLevel(tensor, filled, values[index], path, level + 1, end);
  }
  return end;
}
