/**
 * Converts requests and results of a model to plain data of bytes, numbers, strings and lists. Elements are bytes in
 * machine order, which is little-endian on all platforms of Node.js.
 */
import {
  bytesPerElement,
  elementCount,
  isDatatype,
  type NumericData,
  newData,
  newRequestData,
} from './datatype.js';
import type { BatchTrace, InferRequest } from './runner.js';
import type { Datatype, Tensor, TensorData, Tensors } from './tensor.js';

/** One tensor. BYTES have one array of bytes per element. */
export type NamedTensorData = readonly [
  name: string,
  datatype: Datatype,
  shape: readonly number[],
  data: Uint8Array | readonly Uint8Array[],
];

export interface RequestData {
  readonly inputs: readonly NamedTensorData[];
  /** Absent if all outputs are requested. */
  readonly outputs?: readonly string[];
}

export interface ResultData {
  readonly outputs: readonly NamedTensorData[];
  /** The size of its batch. */
  readonly batchSize: number;
  readonly computeMs: number;
}

export interface Result {
  readonly tensors: Tensors;
  readonly batchSize: number;
  readonly computeMs: number;
}

export function requestToData({ inputs, outputs }: InferRequest): RequestData {
  const data = { inputs: tensorsToData(inputs) };
  return outputs === undefined ? data : { ...data, outputs };
}

/** Whether the value looks like a request. The request may still be invalid. */
export function isRequestData(value: unknown): value is RequestData {
  const inputs = (value as Partial<RequestData> | null | undefined)?.inputs;
  return Array.isArray(inputs) && inputs.every((input) => Array.isArray(input) && isDatatype(input[1]));
}

/** Throws a TypeError with the location and the expected value. Does not check the request against the model. */
export function requestFromData(value: unknown): InferRequest {
  const { inputs, outputs } = recordOf(value, 'a request');
  const tensors = tensorsFromData(inputs, 'inputs', newRequestData);
  if (outputs === undefined) return { inputs: tensors };
  if (!Array.isArray(outputs) || !outputs.every((name) => typeof name === 'string')) {
    throw new TypeError('outputs: expected a list of names');
  }
  return { inputs: tensors, outputs };
}

export function resultToData(tensors: Tensors, { batchSize, computeMs }: BatchTrace): ResultData {
  return { outputs: tensorsToData(tensors), batchSize, computeMs };
}

/** Throws a TypeError with the location and the expected value. */
export function resultFromData(value: unknown): Result {
  const { outputs, batchSize, computeMs } = recordOf(value, 'a result');
  return {
    tensors: tensorsFromData(outputs, 'outputs', newData),
    batchSize: typeof batchSize === 'number' ? batchSize : 1,
    computeMs: typeof computeMs === 'number' ? computeMs : 0,
  };
}

function tensorsToData(tensors: Tensors): NamedTensorData[] {
  return Array.from(tensors, ([name, { datatype, shape, data }]) => [
    name,
    datatype,
    shape,
    datatype === 'BYTES' ? (data as readonly Uint8Array[]) : bytesOf(data as NumericData),
  ]);
}

function tensorsFromData(list: unknown, where: string, makeData: typeof newData): Tensors {
  if (!Array.isArray(list)) throw new TypeError(`${where}: expected a list of tensors`);
  const tensors = new Map<string, Tensor>();
  for (const [i, entry] of list.entries()) {
    const [name, datatype, shape, data] = Array.isArray(entry) ? entry : [];
    if (typeof name !== 'string') throw new TypeError(`${where}[${i}]: expected a name`);
    tensors.set(name, tensorOf(datatype, shape, data, `${where}[${i}]`, makeData));
  }
  return tensors;
}

function tensorOf(
  datatype: unknown,
  shape: unknown,
  data: unknown,
  where: string,
  makeData: typeof newData,
): Tensor {
  if (!isDatatype(datatype)) throw new TypeError(`${where}: expected a datatype`);
  if (!Array.isArray(shape) || !shape.every((length) => Number.isSafeInteger(length) && length >= 0)) {
    throw new TypeError(`${where}: expected a shape`);
  }
  const elements = elementCount(shape);
  return { datatype, shape, data: elementsOf(datatype, elements, data, where, makeData) };
}

function elementsOf(
  datatype: Datatype,
  elements: number,
  data: unknown,
  where: string,
  makeData: typeof newData,
): TensorData {
  const width = bytesPerElement(datatype);
  if (width === undefined) {
    const isRight = Array.isArray(data) && data.every((element) => element instanceof Uint8Array);
    if (isRight && data.length === elements) return data;
    throw new TypeError(`${where}: expected ${elements} arrays of bytes`);
  }
  if (!(data instanceof Uint8Array) || data.byteLength !== elements * width) {
    throw new TypeError(`${where}: expected ${elements * width} bytes`);
  }
  // Copied, because elements must be aligned to their width and the received bytes may not be.
  const copy = makeData(datatype, elements) as NumericData;
  bytesOf(copy).set(data);
  return copy;
}

function bytesOf({ buffer, byteOffset, byteLength }: NumericData): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function recordOf(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, unknown>>;
  throw new TypeError(`expected ${what}, got ${value === null ? 'null' : typeof value}`);
}
