/** Tensors with `content: 'json'` in `:predict`: each element is any JSON value. */
import { type JsonPlace, jsonTextsOf, placeAt, type Tensor, tensorOfJson } from '@batchwise/runners';
import { badRequest } from '../request-error.js';

export function tensorFromJsonRows(rows: readonly unknown[], place: JsonPlace): Tensor {
  if (rows.length === 0) throw badRequest(place.root, 'expected at least one row, got an empty array.');
  return tensorOfJson(rows, (index) => placeAt(place, [index]));
}

/** The elements from `start` to `end` as a JSON array, in the texts of the model. */
export function jsonArrayOf(tensor: Tensor, start: number, end: number): string {
  const data = (tensor.data as readonly Uint8Array[]).slice(start, end);
  return `[${jsonTextsOf({ ...tensor, data }).join(',')}]`;
}
