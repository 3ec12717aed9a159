/** Reads a tensor from JSON arrays, flat or nested according to its shape. */
import type { Datatype, Tensor } from '../tensor.js';
import { type Elements, invalidElement, newElements } from './elements-from-json.js';
import { malformed } from './message-error.js';
import { shownValue } from './shown-value.js';

/** A location in a request for error messages. The text is built only when there is an error. */
export interface JsonPlace {
  readonly root: string;
  /** Follows the first index, as in `instances[3].signal[0]`. */
  readonly member?: string;
}

/** The tensor to read. Its shape is valid, and `elements` is the number of elements of the shape. */
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
  const invalidAt = fill(values, 0);
  if (invalidAt >= 0) {
    throw malformed(placeAt(place, [invalidAt]), invalidElement(datatype, values[invalidAt]));
  }
  return { datatype, shape, data };
}

/**
 * `most` is an upper bound on the elements in the body. Without it a few brackets could allocate all memory, because
 * the whole tensor is allocated before its last rows are read.
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
 * Stores `values`, which are at `path` up to `level`, and returns the next free position. Recurses once per
 * dimension. All calls share one `path`, which is only read for an error message.
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
    const invalidAt = filled.fill(values, at);
    if (invalidAt >= 0) {
      const where = placeAt(place, [...path.slice(0, level), invalidAt]);
      throw malformed(where, invalidElement(datatype, values[invalidAt]));
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

export function placeAt(place: JsonPlace, indices: readonly number[]): string {
  let path = place.root;
  for (const [level, index] of indices.entries()) {
    path += `[${index}]`;
    if (level === 0 && place.member !== undefined) path += `.${place.member}`;
  }
  return path;
}
