/** How the elements of a datatype are held. */
import type { Datatype } from '@batchwise/runners';

export type FixedDatatype = Exclude<Datatype, 'BYTES'>;

/** All but BYTES, whose elements have no fixed size. */
export const ELEMENT_ARRAYS = {
  BOOL: Uint8Array,
  UINT8: Uint8Array,
  UINT16: Uint16Array,
  UINT32: Uint32Array,
  UINT64: BigUint64Array,
  INT8: Int8Array,
  INT16: Int16Array,
  INT32: Int32Array,
  INT64: BigInt64Array,
  FP16: Uint16Array,
  FP32: Float32Array,
  FP64: Float64Array,
} as const satisfies Record<FixedDatatype, unknown>;

export function isDatatype(name: string): name is Datatype {
  return name === 'BYTES' || Object.hasOwn(ELEMENT_ARRAYS, name);
}

export const DATATYPE_NAMES = [...Object.keys(ELEMENT_ARRAYS), 'BYTES'].join(', ');

/** How many elements a shape has; a number that no buffer can hold comes out as one that matches none. */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (const length of shape) {
    if (length === 0) return 0;
    count *= length;
  }
  return count;
}
