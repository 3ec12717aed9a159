/** The properties of each datatype: its width, its array type and its ONNX name. */
import type { Datatype, Tensor, TensorData } from './tensor.js';

/** All data except BYTES. */
export type NumericData = Exclude<TensorData, readonly Uint8Array[]>;

interface DatatypeFacts {
  /** Undefined if elements differ in length. */
  readonly bytesPerElement: number | undefined;
  readonly Data: (new (length: number) => NumericData) | ArrayConstructor;
  readonly onnxType: string;
}

const FACTS: Readonly<Record<Datatype, DatatypeFacts>> = {
  BOOL: { bytesPerElement: 1, Data: Uint8Array, onnxType: 'bool' },
  UINT8: { bytesPerElement: 1, Data: Uint8Array, onnxType: 'uint8' },
  UINT16: { bytesPerElement: 2, Data: Uint16Array, onnxType: 'uint16' },
  UINT32: { bytesPerElement: 4, Data: Uint32Array, onnxType: 'uint32' },
  UINT64: { bytesPerElement: 8, Data: BigUint64Array, onnxType: 'uint64' },
  INT8: { bytesPerElement: 1, Data: Int8Array, onnxType: 'int8' },
  INT16: { bytesPerElement: 2, Data: Int16Array, onnxType: 'int16' },
  INT32: { bytesPerElement: 4, Data: Int32Array, onnxType: 'int32' },
  INT64: { bytesPerElement: 8, Data: BigInt64Array, onnxType: 'int64' },
  FP16: { bytesPerElement: 2, Data: Uint16Array, onnxType: 'float16' },
  FP32: { bytesPerElement: 4, Data: Float32Array, onnxType: 'float32' },
  FP64: { bytesPerElement: 8, Data: Float64Array, onnxType: 'float64' },
  BYTES: { bytesPerElement: undefined, Data: Array, onnxType: 'string' },
};

export const DATATYPES = Object.keys(FACTS) as readonly Datatype[];

const BY_ONNX_TYPE = new Map(DATATYPES.map((datatype) => [FACTS[datatype].onnxType, datatype]));

export function isDatatype(value: unknown): value is Datatype {
  return typeof value === 'string' && Object.hasOwn(FACTS, value);
}

/** Undefined for BYTES, whose elements differ in length. */
export function bytesPerElement(datatype: Datatype): number | undefined {
  return FACTS[datatype].bytesPerElement;
}

export function onnxTypeOf(datatype: Datatype): string {
  return FACTS[datatype].onnxType;
}

/** Undefined for types that the protocol does not define, such as `int4`. */
export function datatypeOfOnnx(onnxType: string): Datatype | undefined {
  return BY_ONNX_TYPE.get(onnxType);
}

/** Returns zeros, or empty strings for BYTES. */
export function newData(datatype: Datatype, length: number): TensorData {
  const { Data } = FACTS[datatype];
  if (Data !== Array) return new (Data as new (length: number) => NumericData)(length);
  return new Array<Uint8Array>(length).fill(EMPTY);
}

/** The size of the pool that small arrays share, and the maximum size of an array in the pool. */
const POOL_BYTES = 64 * 1024;
const SMALL_BYTES = 4 * 1024;
let pool = new ArrayBuffer(POOL_BYTES);
let poolUsed = 0;

/**
 * Like `newData`, for data that is released with its request. Small arrays share a pool, because the garbage
 * collector spends more time on a buffer per array than the rest of a request takes.
 */
export function newRequestData(datatype: Datatype, length: number): TensorData {
  const { Data, bytesPerElement: width } = FACTS[datatype];
  if (width === undefined || width * length > SMALL_BYTES) return newData(datatype, length);
  const bytes = (width * length + 7) & ~7;
  if (poolUsed + bytes > POOL_BYTES) {
    pool = new ArrayBuffer(POOL_BYTES);
    poolUsed = 0;
  }
  const View = Data as unknown as new (buffer: ArrayBuffer, from: number, length: number) => NumericData;
  const data = new View(pool, poolUsed, length);
  poolUsed += bytes;
  return data;
}

const EMPTY = new Uint8Array(0);

export function isDataOf(datatype: Datatype, data: unknown): data is TensorData {
  return data instanceof FACTS[datatype].Data;
}

/** The name of the array type in error messages. */
export function dataName(datatype: Datatype): string {
  return datatype === 'BYTES' ? 'an array of Uint8Array' : `a ${FACTS[datatype].Data.name}`;
}

/** The number of elements of a tensor with this shape. */
export function elementCount(shape: readonly number[]): number {
  let count = 1;
  for (let i = 0; i < shape.length; i++) count *= shape[i] as number;
  return count;
}

/** The size of the data, without the length prefixes that the protocol adds to BYTES. */
export function byteLength({ datatype, data }: Tensor): number {
  if (datatype !== 'BYTES') return (data as NumericData).byteLength;
  let bytes = 0;
  for (const element of data as readonly Uint8Array[]) bytes += element.byteLength;
  return bytes;
}
