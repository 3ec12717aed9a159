/**
 * Tensors as raw bytes: little-endian, row-major, without gaps. Each element of BYTES follows its length in four
 * bytes. All platforms of Node.js are little-endian, so elements are copied without conversion.
 */
import { bytesPerElement, elementCount, type NumericData, newData } from '../datatype.js';
import type { Datatype, Tensor, TensorData } from '../tensor.js';
import { malformed } from './message-error.js';

const PREFIX_BYTES = 4;

/**
 * `where` is the name of the bytes in error messages. Copies only unaligned data; otherwise the tensor is a view of
 * the bytes.
 */
export function decodeRaw(
  datatype: Datatype,
  shape: readonly number[],
  bytes: Uint8Array,
  where = 'bytes',
): Tensor {
  const count = elementCount(shape);
  const data =
    datatype === 'BYTES' ? decodeStrings(count, bytes, where) : decodeFixed(datatype, count, bytes, where);
  return { datatype, shape, data };
}

/** Elements of fixed size are not copied: the result is a view of the tensor. */
export function encodeRaw(tensor: Tensor): Buffer {
  const { data } = tensor;
  if (isStrings(data)) return encodeStrings(data);
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

function decodeFixed(datatype: Datatype, count: number, bytes: Uint8Array, where: string): TensorData {
  const width = bytesPerElement(datatype) as number;
  if (bytes.length !== count * width) {
    throw malformed(
      where,
      `expected ${count * width} bytes, ${count} of ${datatype} with ${width} each, got ${bytes.length}.`,
    );
  }
  if (datatype === 'BOOL') checkBooleans(bytes, where);
  const none = newData(datatype, 0) as NumericData;
  const View = none.constructor as new (memory: ArrayBufferLike, from: number, length: number) => NumericData;
  if (bytes.byteOffset % width === 0) return new View(bytes.buffer, bytes.byteOffset, count);
  return new View(new Uint8Array(bytes).buffer, 0, count);
}

function checkBooleans(bytes: Uint8Array, where: string): void {
  const at = bytes.findIndex((byte) => byte > 1);
  if (at >= 0) throw malformed(where, `element ${at} of BOOL: expected 0 or 1, got ${bytes[at]}.`);
}

function decodeStrings(count: number, bytes: Uint8Array, where: string): readonly Uint8Array[] {
  // Checked before the allocation: a shape may declare more elements than fit in memory.
  if (count * PREFIX_BYTES > bytes.length) {
    throw malformed(
      where,
      `expected ${count} elements of BYTES, each after its length in ${PREFIX_BYTES} bytes, got ${bytes.length} bytes in all.`,
    );
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const elements: Uint8Array[] = [];
  let at = 0;
  for (let index = 0; index < count; index++) {
    if (at + PREFIX_BYTES > bytes.length) {
      throw malformed(
        where,
        `element ${index} of ${count}: expected its length in ${PREFIX_BYTES} bytes at ${at}, got ${bytes.length - at}.`,
      );
    }
    const length = view.getUint32(at, true);
    const from = at + PREFIX_BYTES;
    at = from + length;
    if (at > bytes.length) {
      throw malformed(
        where,
        `element ${index} of ${count}: expected ${length} bytes at ${from}, got ${bytes.length - from}.`,
      );
    }
    elements.push(bytes.subarray(from, at));
  }
  if (at !== bytes.length) {
    throw malformed(
      where,
      `expected to end after element ${count} at ${at}, got ${bytes.length - at} bytes more.`,
    );
  }
  return elements;
}

function encodeStrings(elements: readonly Uint8Array[]): Buffer {
  let length = 0;
  for (const element of elements) length += PREFIX_BYTES + element.length;
  const bytes = Buffer.allocUnsafe(length);
  let at = 0;
  for (const element of elements) {
    at = bytes.writeUInt32LE(element.length, at);
    bytes.set(element, at);
    at += element.length;
  }
  return bytes;
}

function isStrings(data: TensorData): data is readonly Uint8Array[] {
  return Array.isArray(data);
}
