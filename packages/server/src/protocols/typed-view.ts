import type { Datatype, NumericData } from '@batchwise/runners';

/** Memory as elements of a datatype. `byteOffset` must be a multiple of their size. */
export function typedView(
  datatype: Exclude<Datatype, 'BYTES'>,
  memory: ArrayBufferLike,
  byteOffset: number,
  length: number,
): NumericData {
  switch (datatype) {
    case 'BOOL':
    case 'UINT8':
      return new Uint8Array(memory, byteOffset, length);
    case 'UINT16':
    case 'FP16':
      return new Uint16Array(memory, byteOffset, length);
    case 'UINT32':
      return new Uint32Array(memory, byteOffset, length);
    case 'UINT64':
      return new BigUint64Array(memory, byteOffset, length);
    case 'INT8':
      return new Int8Array(memory, byteOffset, length);
    case 'INT16':
      return new Int16Array(memory, byteOffset, length);
    case 'INT32':
      return new Int32Array(memory, byteOffset, length);
    case 'INT64':
      return new BigInt64Array(memory, byteOffset, length);
    case 'FP32':
      return new Float32Array(memory, byteOffset, length);
    case 'FP64':
      return new Float64Array(memory, byteOffset, length);
  }
}
