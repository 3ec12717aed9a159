/** Converts rows as nested arrays to tensors and back. */
import { BatchwiseError } from 'batchwise';
import { concatTensors } from './concat-tensors.js';
import { dataName, elementCount, isDataOf, newRequestData } from './datatype.js';
import { elementAt, setElement, valueName } from './element.js';
import { specOfRows } from './spec-of-rows.js';
import { splitTensor } from './split-tensor.js';
import type { Tensor, TensorData, TensorSpec } from './tensor.js';

/**
 * Concatenates rows along `dim`. Each row is a nested array with the shape of the input without that dimension, or a
 * typed array with all its elements. An input without that dimension takes one row.
 */
export function tensorOfRows(input: TensorSpec, dim: number, rows: readonly unknown[]): Tensor {
  const spec = specOfRows(input, rows);
  const rowShape = spec.shape.filter((_, index) => index !== dim);
  const parts = rows.map((row, index) => {
    const where = `row ${index} of input ${JSON.stringify(spec.name)}`;
    const { shape, data } = rowOf(row, spec, rowShape, where);
    const hasDim = dim < spec.shape.length;
    return { datatype: spec.datatype, shape: hasDim ? shape.toSpliced(dim, 0, 1) : shape, data };
  });
  if (parts.length === 1) return parts[0] as Tensor;
  try {
    return concatTensors(parts, dim);
  } catch (error) {
    const message = `rows of input ${JSON.stringify(spec.name)}: ${(error as Error).message}.`;
    throw new BatchwiseError('INVALID_ITEM', message, { cause: error });
  }
}

/** Returns the rows along `dim` as nested arrays. A tensor without that dimension is one row. */
export function rowsOfTensor(tensor: Tensor, dim: number): unknown[] {
  const count = tensor.shape[dim];
  if (count === undefined) return [nested(tensor, tensor.shape, 0, 0)];
  const rowShape = tensor.shape.filter((_, index) => index !== dim);
  return splitTensor(tensor, dim, new Array(count).fill(1)).map((row) => nested(row, rowShape, 0, 0));
}

interface Row {
  readonly shape: readonly number[];
  readonly data: TensorData;
}

function rowOf(row: unknown, spec: TensorSpec, expected: readonly number[], where: string): Row {
  if (ArrayBuffer.isView(row)) return flatRow(row, spec, expected, where);
  const shape = shapeOf(row, expected, where);
  const data = newRequestData(spec.datatype, elementCount(shape));
  const end = fill(row, shape, 0, 0, data, spec, where);
  if (end !== data.length) throw invalid(where, `${data.length} elements`, `${end}`);
  return { shape, data };
}

function flatRow(
  row: ArrayBufferView,
  { datatype }: TensorSpec,
  expected: readonly number[],
  where: string,
): Row {
  if (datatype === 'BYTES' || !isDataOf(datatype, row)) {
    throw invalid(where, `${dataName(datatype)} or nested arrays`, `a ${row.constructor.name}`);
  }
  const free = expected.filter((length) => length === -1).length;
  const known = elementCount(expected.filter((length) => length !== -1));
  if (free > 1) throw invalid(where, `nested arrays of shape [${expected}]`, 'a flat array');
  const length = free === 0 ? 1 : row.length / known;
  if (row.length !== known * length || !Number.isInteger(length)) {
    throw invalid(
      where,
      `${known}${free === 0 ? '' : ' × n'} elements for shape [${expected}]`,
      `${row.length}`,
    );
  }
  return { shape: expected.map((fixed) => (fixed === -1 ? length : fixed)), data: row };
}

/** Open dimensions take the length of the first array at each depth. */
function shapeOf(row: unknown, expected: readonly number[], where: string): number[] {
  const shape: number[] = [];
  let level = row;
  for (const length of expected) {
    if (!Array.isArray(level)) throw invalid(where, nesting(expected), kindOf(level, shape.length));
    shape.push(length === -1 ? level.length : length);
    level = level[0];
  }
  return shape;
}

function fill(
  value: unknown,
  shape: readonly number[],
  depth: number,
  start: number,
  data: TensorData,
  spec: TensorSpec,
  where: string,
): number {
  if (depth === shape.length) {
    if (setElement(spec.datatype, data, start, value)) return start + 1;
    throw invalid(where, `${valueName(spec.datatype)} as element ${start}`, kindOf(value, depth));
  }
  const length = shape[depth] as number;
  if (!Array.isArray(value)) throw invalid(where, nesting(shape), kindOf(value, depth));
  if (value.length !== length) {
    throw invalid(where, `${length} at depth ${depth + 1} of shape [${shape}]`, `${value.length}`);
  }
  let next = start;
  for (let i = 0; i < length; i++) next = fill(value[i], shape, depth + 1, next, data, spec, where);
  return next;
}

function nested(tensor: Tensor, shape: readonly number[], depth: number, start: number): unknown {
  if (depth === shape.length) return elementAt(tensor.datatype, tensor.data, start);
  const length = shape[depth] as number;
  const stride = elementCount(shape.slice(depth + 1));
  const array = new Array<unknown>(length);
  for (let i = 0; i < length; i++) array[i] = nested(tensor, shape, depth + 1, start + i * stride);
  return array;
}

function nesting(shape: readonly number[]): string {
  return shape.length === 0 ? 'a single value' : `nested arrays of shape [${shape}]`;
}

function kindOf(value: unknown, depth: number): string {
  const kind = Array.isArray(value) ? `an array of ${value.length}` : value === null ? 'null' : typeof value;
  const shown = typeof value === 'number' || typeof value === 'boolean' ? String(value) : kind;
  return depth === 0 ? shown : `${shown} at depth ${depth + 1}`;
}

function invalid(where: string, expected: string, got: string): BatchwiseError {
  return new BatchwiseError('INVALID_ITEM', `${where}: expected ${expected}, got ${got}.`);
}
