/**
 * Tensors as InferTensorContents of protobuf: one repeated field for each family of datatypes. FP16 has no such
 * field. Elements are copied directly between the message and the tensor.
 */
import { elementCount, type NumericData, newData } from '../datatype.js';
import type { Datatype, Tensor, TensorData } from '../tensor.js';
import { malformed } from './message-error.js';
import { encodeRaw } from './raw-tensor.js';
import { NO_BYTES, WIRE_TYPES, WireReader } from './wire-reader.js';
import { WireWriter, writeVarint } from './wire-writer.js';

type TypedDatatype = Exclude<Datatype, 'FP16'>;

interface Field {
  readonly number: number;
  readonly name: string;
  /** The wire type of a single element. Elements are usually packed into a field with a length. */
  readonly wireType: number;
}

const { varint, fixed32, fixed64, bytes: withLength } = WIRE_TYPES;
const FIELDS: readonly Field[] = [
  { number: 1, name: 'bool_contents', wireType: varint },
  { number: 2, name: 'int_contents', wireType: varint },
  { number: 3, name: 'int64_contents', wireType: varint },
  { number: 4, name: 'uint_contents', wireType: varint },
  { number: 5, name: 'uint64_contents', wireType: varint },
  { number: 6, name: 'fp32_contents', wireType: fixed32 },
  { number: 7, name: 'fp64_contents', wireType: fixed64 },
  { number: 8, name: 'bytes_contents', wireType: withLength },
];

const FIELD_NUMBERS: Readonly<Record<TypedDatatype, number>> = {
  BOOL: 1,
  INT8: 2,
  INT16: 2,
  INT32: 2,
  INT64: 3,
  UINT8: 4,
  UINT16: 4,
  UINT32: 4,
  UINT64: 5,
  FP32: 6,
  FP64: 7,
  BYTES: 8,
};

/** `where` is the name of the contents in error messages. */
export function decodeTyped(
  datatype: Datatype,
  shape: readonly number[],
  contents: Uint8Array = NO_BYTES,
  where = 'contents',
): Tensor {
  if (datatype === 'FP16') {
    throw malformed(where, 'FP16 has no typed field: expected raw_input_contents or raw_output_contents.');
  }
  const field = FIELDS[FIELD_NUMBERS[datatype] - 1] as Field;
  const expected = elementCount(shape);
  // Counted before the allocation: a shape may declare more elements than fit in memory.
  const count = countElements(datatype, field, contents, where);
  if (count !== expected) {
    throw malformed(`${where}.${field.name}`, `expected ${expected} elements for the shape, got ${count}.`);
  }
  return { datatype, shape, data: readElements(datatype, field, count, contents, where) };
}

function countElements(datatype: TypedDatatype, field: Field, contents: Uint8Array, where: string): number {
  let count = 0;
  const reader = new WireReader(contents, where);
  while (reader.next()) {
    reader.skip();
    if (reader.field !== field.number) {
      const stray = FIELDS[reader.field - 1];
      if (!stray || reader.from === reader.to) continue;
      throw malformed(where, `expected ${datatype} in ${field.name}, got ${stray.name}.`);
    }
    const isWhole = reader.wireType === withLength || reader.wireType === field.wireType;
    const elements = isWhole ? elementsBetween(field, contents, reader.from, reader.to) : Number.NaN;
    if (!Number.isInteger(elements))
      throw malformed(`${where}.${field.name}`, 'the last element is truncated.');
    count += elements;
  }
  return count;
}

/** The number of elements in one field. Not an integer if the last element is truncated. */
function elementsBetween({ wireType }: Field, contents: Uint8Array, from: number, to: number): number {
  if (wireType === withLength) return 1;
  if (wireType === fixed32) return (to - from) / 4;
  if (wireType === fixed64) return (to - from) / 8;
  let count = 0;
  for (let at = from; at < to; at++) if ((contents[at] as number) < 128) count++;
  return to > from && (contents[to - 1] as number) > 127 ? Number.NaN : count;
}

function readElements(
  datatype: TypedDatatype,
  field: Field,
  count: number,
  contents: Uint8Array,
  where: string,
): TensorData {
  const reader = new WireReader(contents, where);
  if (datatype === 'BYTES') {
    const elements: Uint8Array[] = [];
    while (reader.next()) {
      if (reader.field === field.number) elements.push(reader.bytes());
      else reader.skip();
    }
    return elements;
  }
  const data = newData(datatype, count) as NumericData;
  let at = 0;
  while (reader.next()) {
    reader.skip();
    if (reader.field !== field.number) continue;
    if (field.wireType === varint) {
      const numbers = new WireReader(contents, where, undefined, reader.from, reader.to);
      at = readNumbers(numbers, datatype, data, at, `${where}.${field.name}`);
    } else {
      const target = new Uint8Array(data.buffer, at * data.BYTES_PER_ELEMENT);
      target.set(contents.subarray(reader.from, reader.to));
      at += (reader.to - reader.from) / data.BYTES_PER_ELEMENT;
    }
  }
  return data;
}

/** Returns the number of elements stored in the tensor so far. */
function readNumbers(
  reader: WireReader,
  datatype: Datatype,
  data: NumericData,
  start: number,
  where: string,
): number {
  let at = start;
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    // Written as two 32-bit halves: a BigInt per element would be allocated only to be split again.
    const halves = new Int32Array(data.buffer);
    for (; !reader.isAtEnd; at++) {
      reader.varint();
      halves[at * 2] = reader.low;
      halves[at * 2 + 1] = reader.high;
    }
    return at;
  }
  const isUnsigned = datatype.startsWith('U');
  for (; !reader.isAtEnd; at++) {
    reader.varint();
    const isTrue = (reader.low | reader.high) !== 0;
    const number = datatype === 'BOOL' ? Number(isTrue) : isUnsigned ? reader.low >>> 0 : reader.low;
    data[at] = number;
    // The integer fields are wider than some datatypes. A value out of range changes when it is stored.
    if (data[at] !== number) throw malformed(`${where}[${at}]`, `expected ${datatype}, got ${number}.`);
  }
  return at;
}

/** FP16 returns an empty message: it has only a raw form. */
export function encodeTyped(tensor: Tensor): WireWriter {
  const { datatype, data } = tensor;
  const writer = new WireWriter();
  if (datatype === 'FP16' || data.length === 0) return writer;
  const number = FIELD_NUMBERS[datatype];
  if (datatype === 'BYTES') {
    writer.each(number, data as readonly Uint8Array[]);
  } else if (datatype === 'BOOL' || datatype === 'FP32' || datatype === 'FP64') {
    // The memory layout is the wire format.
    writer.bytes(number, encodeRaw(tensor));
  } else if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    writer.bytes(number, packed64(data));
  } else {
    writer.bytes(number, packed32(data as Int32Array));
  }
  return writer;
}

function packed64(data: BigInt64Array | BigUint64Array): Uint8Array {
  const halves = new Int32Array(data.buffer, data.byteOffset, data.length * 2);
  const bytes = Buffer.allocUnsafe(data.length * 10);
  let at = 0;
  for (let index = 0; index < halves.length; index += 2) {
    at = writeVarint(bytes, at, halves[index] as number, halves[index + 1] as number);
  }
  return bytes.subarray(0, at);
}

/** Negative numbers take 64 bits. */
function packed32(data: ArrayLike<number>): Uint8Array {
  const bytes = Buffer.allocUnsafe(data.length * 10);
  let at = 0;
  for (let index = 0; index < data.length; index++) {
    const number = data[index] as number;
    at = writeVarint(bytes, at, number, number < 0 ? -1 : 0);
  }
  return bytes.subarray(0, at);
}
