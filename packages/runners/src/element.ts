/** Converts single elements of a tensor from and to JavaScript values. */
import { float16Bits, float16Value } from './float16.js';
import type { Datatype, TensorData } from './tensor.js';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The name of the valid values of a datatype in error messages. */
export function valueName(datatype: Datatype): string {
  switch (datatype) {
    case 'BOOL':
      return 'true or false';
    case 'BYTES':
      return 'a string';
    case 'FP16':
    case 'FP32':
    case 'FP64':
      return 'a number';
    default:
      return `a whole number in the range of ${datatype}`;
  }
}

/** Writes a value. Returns false if the value is invalid for the datatype. */
export function setElement(datatype: Datatype, data: TensorData, index: number, value: unknown): boolean {
  switch (datatype) {
    case 'BYTES': {
      const bytes = typeof value === 'string' ? encoder.encode(value) : value;
      if (!(bytes instanceof Uint8Array)) return false;
      (data as Uint8Array[])[index] = bytes;
      return true;
    }
    case 'BOOL':
      if (typeof value !== 'boolean' && value !== 0 && value !== 1) return false;
      (data as Uint8Array)[index] = Number(value);
      return true;
    case 'FP16':
      if (typeof value !== 'number') return false;
      (data as Uint16Array)[index] = float16Bits(value);
      return true;
    case 'FP32':
    case 'FP64':
      if (typeof value !== 'number') return false;
      (data as Float32Array)[index] = value;
      return true;
    case 'INT64':
    case 'UINT64': {
      if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) return false;
      const whole = BigInt(value as bigint | number);
      const wide = data as BigInt64Array;
      wide[index] = whole;
      return wide[index] === whole;
    }
    default: {
      if (typeof value !== 'number') return false;
      const narrow = data as Int32Array;
      narrow[index] = value;
      // An out-of-range value is truncated and then differs.
      return narrow[index] === value;
    }
  }
}

/** Reads a value as a number, boolean or string; as a bigint only where a number would not be exact. */
export function elementAt(datatype: Datatype, data: TensorData, index: number): unknown {
  const value = data[index];
  switch (datatype) {
    case 'BYTES':
      return decoder.decode(value as Uint8Array);
    case 'BOOL':
      return value !== 0;
    case 'FP16':
      return float16Value(value as number);
    case 'INT64':
    case 'UINT64': {
      const whole = Number(value);
      return Number.isSafeInteger(whole) ? whole : value;
    }
    default:
      return value;
  }
}
