/**
 * Writes JSON numbers, booleans and strings into the memory of a tensor, and checks them in the same pass. A fill
 * function returns the index of the first invalid value, or −1.
 *
 * Each fill function checks the type of a value before it stores the value: storing an object would call its
 * `valueOf`, and storing an array with 100,000 levels would convert the whole array to text.
 */
import { type NumericData, newRequestData } from '../datatype.js';
import { float16Bits } from '../float16.js';
import type { Datatype, TensorData } from '../tensor.js';
import { isJsonObject } from './json-body.js';
import { shownValue } from './shown-value.js';

export interface Elements {
  readonly data: TensorData;
  /** Stores `values`, starting at element `at`. */
  fill(values: readonly unknown[], at: number): number;
}

export function newElements(datatype: Datatype, length: number): Elements {
  if (datatype === 'BYTES') {
    const data = new Array<Uint8Array>(length);
    return { data, fill: (values, at) => fillBytes(data, values, at) };
  }
  const data = newRequestData(datatype, length) as NumericData;
  if (data instanceof Float32Array || data instanceof Float64Array) {
    return { data, fill: (values, at) => fillFloats(data, values, at) };
  }
  if (data instanceof BigInt64Array || data instanceof BigUint64Array) {
    return { data, fill: (values, at) => fillLong(data, values, at) };
  }
  if (datatype === 'BOOL') return { data, fill: (values, at) => fillBooleans(data, values, at) };
  if (datatype === 'FP16') return { data, fill: (values, at) => fillHalves(data, values, at) };
  return { data, fill: (values, at) => fillIntegers(data, values, at) };
}

function fillFloats(data: Float32Array | Float64Array, values: readonly unknown[], at: number): number {
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value !== 'number') return index;
    data[at + index] = value;
    const stored = data[at + index] as number;
    // Infinity minus itself is NaN: 1e39 does not fit FP32, and JSON.parse reads 1e999 as Infinity.
    if (stored - stored !== 0) return index;
  }
  return -1;
}

/** A typed array of integers stores a value unchanged only if the value is an integer within its range. */
function fillIntegers(data: Uint8Array | NumberArray, values: readonly unknown[], at: number): number {
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value !== 'number') return index;
    data[at + index] = value;
    if (data[at + index] !== value) return index;
  }
  return -1;
}

type NumberArray = Uint16Array | Uint32Array | Int8Array | Int16Array | Int32Array;

function fillLong(data: BigInt64Array | BigUint64Array, values: readonly unknown[], at: number): number {
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value === 'number' ? !Number.isSafeInteger(value) : !isIntegerText(value)) return index;
    const exact = BigInt(value as number | string);
    data[at + index] = exact;
    if (data[at + index] !== exact) return index;
  }
  return -1;
}

/** 20 characters are enough for any 64-bit integer. The limit avoids parsing a megabyte of digits. */
function isIntegerText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= 20 && /^-?\d+$/.test(value);
}

function fillBooleans(data: Uint8Array | NumberArray, values: readonly unknown[], at: number): number {
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value !== 'boolean') return index;
    data[at + index] = value ? 1 : 0;
  }
  return -1;
}

function fillHalves(data: Uint8Array | NumberArray, values: readonly unknown[], at: number): number {
  for (let index = 0; index < values.length; index++) {
    const value = values[index];
    if (typeof value !== 'number') return index;
    const bits = float16Bits(value);
    // The value is infinite or NaN.
    if ((bits & 0x7c00) === 0x7c00) return index;
    data[at + index] = bits;
  }
  return -1;
}

function fillBytes(data: Uint8Array[], values: readonly unknown[], at: number): number {
  for (let index = 0; index < values.length; index++) {
    const bytes = bytesOf(values[index]);
    if (bytes === undefined) return index;
    data[at + index] = bytes;
  }
  return -1;
}

function bytesOf(value: unknown): Uint8Array | undefined {
  if (typeof value === 'string') return hasLoneSurrogate(value) ? undefined : Buffer.from(value, 'utf8');
  if (!isJsonObject(value)) return undefined;
  const { b64 } = value;
  if (typeof b64 !== 'string' || b64.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(b64))
    return undefined;
  return Buffer.from(b64, 'base64');
}

/** UTF-8 cannot encode a lone surrogate: `Buffer.from` would replace it with another character. */
function hasLoneSurrogate(text: string): boolean {
  return /\p{Surrogate}/u.test(text);
}

const EXPECTED: Readonly<Record<Datatype, string>> = {
  BOOL: 'true or false',
  UINT8: 'a whole number from 0 to 255',
  UINT16: 'a whole number from 0 to 65535',
  UINT32: 'a whole number from 0 to 4294967295',
  UINT64: 'a whole number from 0 to 18446744073709551615',
  INT8: 'a whole number from -128 to 127',
  INT16: 'a whole number from -32768 to 32767',
  INT32: 'a whole number from -2147483648 to 2147483647',
  INT64: 'a whole number from -9223372036854775808 to 9223372036854775807',
  FP16: 'a number within the range of FP16',
  FP32: 'a number within the range of FP32',
  FP64: 'a number within the range of FP64',
  BYTES: 'a string, or {"b64": "…"} with bytes in Base64',
};

/**
 * Whether some values of the datatype do not fit a JavaScript number. Such values must be read from `JsonBody.exact`.
 */
export function isLong(datatype: Datatype): boolean {
  return datatype === 'INT64' || datatype === 'UINT64';
}

/** The error message for a value that a fill function rejected. */
export function invalidElement(datatype: Datatype, value: unknown): string {
  const isFloat = datatype === 'FP16' || datatype === 'FP32' || datatype === 'FP64';
  if (isFloat && typeof value !== 'number') {
    const isNonFinite = value === null || (typeof value === 'string' && /^[+-]?(nan|inf)/i.test(value));
    const hint = isNonFinite ? ' JSON has no NaN or Infinity: send such values as binary data over /v2.' : '';
    return `expected a number, got ${shownValue(value)}.${hint}`;
  }
  if (
    isLong(datatype) &&
    typeof value === 'number' &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value)
  ) {
    return `expected ${EXPECTED[datatype]} with all its digits, got ${value}.`;
  }
  if (datatype === 'BYTES' && typeof value === 'string') {
    return 'expected text that UTF-8 can encode, got a string with half of a surrogate pair.';
  }
  return `expected ${EXPECTED[datatype]}, got ${shownValue(value)}.`;
}
