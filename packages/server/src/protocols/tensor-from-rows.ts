/** A tensor out of nested JSON arrays that say its shape themselves, as `instances` and `inputs` do. */
import {
  type JsonPlace,
  placeAt,
  shownValue,
  specOfRows,
  type Tensor,
  type TensorSpec,
  tensorFromFlatJson,
  tensorFromNestedJson,
} from '@batchwise/runners';
import { badRequest } from '../request-error.js';
import { shapeText } from '../signature-check.js';
import { countElements } from './count-elements.js';

/** `most` is more elements than the body can have. */
export function tensorFromRows(
  rows: readonly unknown[],
  input: TensorSpec,
  place: JsonPlace,
  most: number,
): Tensor {
  if (rows.length === 0) throw badRequest(place.root, 'expected at least one row, got an empty array.');
  const spec = specOfRows(input, rows);
  const { datatype } = spec;
  const flatLength = flatRowLength(rows[0], spec);
  if (flatLength !== undefined) {
    const shape = [rows.length, flatLength];
    const elements = countElements(shape, place.root);
    const tensor = tensorFromNestedJson({ datatype, shape, elements, place }, rows, most);
    return { datatype, shape: [rows.length, ...spec.shape.slice(1)], data: tensor.data };
  }
  const shape = shapeOfFirst(rows, spec, place);
  const tensor = { datatype, shape, elements: countElements(shape, place.root), place };
  return shape.length === 1 ? tensorFromFlatJson(tensor, rows) : tensorFromNestedJson(tensor, rows, most);
}

/** An image of 8 × 8 may come as 64 numbers, where the model says that this is what it can only be. */
function flatRowLength(row: unknown, spec: TensorSpec): number | undefined {
  if (!Array.isArray(row) || Array.isArray(row[0])) return undefined;
  return row.length === elementsOfRow(spec) ? row.length : undefined;
}

/** Undefined where the model leaves them open, or a row is flat anyway. */
function elementsOfRow({ shape: [, ...dimensions] }: TensorSpec): number | undefined {
  if (dimensions.length < 2 || dimensions.some((length) => length < 0)) return undefined;
  return dimensions.reduce((product, dimension) => product * dimension, 1);
}

/** Goes down the first of each; whether the others are alike is seen when they are read. */
function shapeOfFirst(rows: readonly unknown[], spec: TensorSpec, place: JsonPlace): readonly number[] {
  const shape: number[] = [];
  let values: unknown = rows;
  for (const expected of spec.shape) {
    // Of what is empty there is no first; what the model takes is as good a guess.
    if (values === undefined) {
      shape.push(Math.max(0, expected));
      continue;
    }
    if (!Array.isArray(values) || (expected >= 0 && values.length !== expected)) {
      const where = placeAt(place, new Array<number>(shape.length).fill(0));
      const wanted = expected < 0 ? 'an array' : `an array of ${expected}`;
      const flat = shape.length === 1 ? elementsOfRow(spec) : undefined;
      throw badRequest(
        where,
        `expected ${wanted}${flat === undefined ? '' : ` or of all ${flat} values`}, because the model expects ${shapeText(spec.shape)}, got ${shownValue(values)}.`,
      );
    }
    shape.push(values.length);
    values = values[0];
  }
  return shape;
}
