/**
 * What rows of JSON values say of an input whose datatype or number of dimensions is open. The first row decides;
 * the others are checked against it.
 */
import { DATATYPES, isDataOf } from './datatype.js';
import type { Datatype, TensorSpec } from './tensor.js';

/** Of an input of any shape. numpy before version 2 has no more. */
export const MAX_DIMENSIONS = 32;

/** Numbers are FP32. A row is a single value, nested arrays, or a typed array of one dimension. */
export function specOfRows(spec: TensorSpec, rows: readonly unknown[]): TensorSpec {
  if (!spec.anyDatatype && !spec.anyShape) return spec;
  const shape = [-1];
  let value = rows[0];
  if (ArrayBuffer.isView(value)) shape.push(-1);
  while (Array.isArray(value) && shape.length < MAX_DIMENSIONS) {
    shape.push(-1);
    value = value[0];
  }
  return {
    ...spec,
    datatype: spec.anyDatatype ? datatypeOf(value) : spec.datatype,
    shape: spec.anyShape ? shape : spec.shape,
  };
}

function datatypeOf(value: unknown): Datatype {
  if (ArrayBuffer.isView(value))
    return DATATYPES.find((name) => name !== 'BOOL' && isDataOf(name, value)) ?? 'FP32';
  if (typeof value === 'string') return 'BYTES';
  return typeof value === 'boolean' ? 'BOOL' : 'FP32';
}
