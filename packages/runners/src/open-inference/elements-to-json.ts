/**
 * Converts the elements of a tensor to JSON text. NaN and the infinities, which JSON cannot represent, become null.
 * 64-bit integers keep all their digits.
 */
import { isUtf8 } from 'node:buffer';
import { float16Value } from '../float16.js';
import type { Tensor } from '../tensor.js';

/** `[…]`: the elements from `start` up to `end`, flat. */
export function elementsToJson(tensor: Tensor, start: number, end: number): string {
  const { datatype, data } = tensor;
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    return `[${data.subarray(start, end).join(',')}]`;
  }
  if (data instanceof Float32Array) return floatsToJson(data, start, end);
  if (!ArrayBuffer.isView(data)) return `[${data.slice(start, end).map(bytesToJson).join(',')}]`;
  // A loop is twice as fast as Array.from, and JSON.stringify is faster than any join.
  const values: (number | boolean)[] = [];
  for (let index = start; index < end; index++) {
    const value = data[index] as number;
    values.push(datatype === 'BOOL' ? value !== 0 : datatype === 'FP16' ? float16Value(value) : value);
  }
  return JSON.stringify(values);
}

function floatsToJson(data: Float32Array, start: number, end: number): string {
  const values: number[] = [];
  for (let index = start; index < end; index++) values.push(fewerDigits(data[index] as number));
  return JSON.stringify(values);
}

/**
 * Returns a number of at most eight digits that converts back to the same float, if there is one. As a double, 0.1
 * would be written as 0.10000000149011612. This halves the bytes at no cost: writing the shorter number saves as much
 * time as rounding takes.
 */
function fewerDigits(float: number): number {
  const size = Math.abs(float);
  let scale = 1;
  for (let limit = 1e7; size < limit && scale < 1e16; limit *= 0.1) scale *= 10;
  const rounded = Math.round(float * scale) / scale;
  return Math.fround(rounded) === float ? rounded : float;
}

function bytesToJson(bytes: Uint8Array): string {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return isUtf8(buffer) ? JSON.stringify(buffer.toString('utf8')) : `{"b64":"${buffer.toString('base64')}"}`;
}

/** The number of elements that become null in JSON. */
export function countNonFinite({ datatype, data }: Tensor): number {
  let count = 0;
  if (data instanceof Float32Array || data instanceof Float64Array) {
    for (const value of data) if (value - value !== 0) count++;
  } else if (datatype === 'FP16' && data instanceof Uint16Array) {
    for (const bits of data) if ((bits & 0x7c00) === 0x7c00) count++;
  }
  return count;
}
