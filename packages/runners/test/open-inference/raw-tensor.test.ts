import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Datatype, TensorData } from '../../src/index.js';
import { decodeRaw, encodeRaw } from '../../src/open-inference/raw-tensor.js';

const text = (value: string) => new TextEncoder().encode(value);

describe('a tensor as bytes', () => {
  test.each<[Datatype, TensorData, string]>([
    ['BOOL', Uint8Array.of(0, 1), '0001'],
    ['UINT8', Uint8Array.of(0, 255), '00ff'],
    ['UINT16', Uint16Array.of(1, 65535), '0100ffff'],
    ['UINT32', Uint32Array.of(1, 2 ** 32 - 1), '01000000ffffffff'],
    ['UINT64', BigUint64Array.of(1n, 2n ** 64n - 1n), '0100000000000000ffffffffffffffff'],
    ['INT8', Int8Array.of(-128, 127), '807f'],
    ['INT16', Int16Array.of(-2, 3), 'feff0300'],
    ['INT32', Int32Array.of(-2, 3), 'feffffff03000000'],
    ['INT64', BigInt64Array.of(-2n, 3n), 'feffffffffffffff0300000000000000'],
    ['FP16', Uint16Array.of(0x3c00, 0xc000), '003c00c0'],
    ['FP32', Float32Array.of(1, Number.NaN), '0000803f0000c07f'],
    ['FP64', Float64Array.of(1, -Infinity), '000000000000f03f000000000000f0ff'],
    ['BYTES', [text('ab'), text('')], '02000000616200000000'],
  ])('is little-endian and the same both ways: %s', (datatype, data, hex) => {
    const bytes = Buffer.from(hex, 'hex');
    expect(Buffer.from(encodeRaw({ datatype, shape: [2], data })).toString('hex')).toBe(hex);
    // At any offset of a message: elements are usually not aligned there.
    for (const offset of [0, 1]) {
      const within = new Uint8Array(bytes.length + offset);
      within.set(bytes, offset);
      const decoded = decodeRaw(datatype, [2], within.subarray(offset));
      expect(decoded).toEqual({ datatype, shape: [2], data });
    }
  });

  test('may be a view of a larger array', () => {
    const data = Float32Array.of(1, 2, 3).subarray(1, 2);
    expect(encodeRaw({ datatype: 'FP32', shape: [1], data })).toHaveLength(4);
  });

  test.each<[string, Datatype, number[], string, RegExp]>([
    ['too few bytes', 'FP32', [2], '000000', /bytes: expected 8 bytes, 2 of FP32 with 4 each, got 3\./],
    ['too many bytes', 'INT8', [2], '000000', /expected 2 bytes.* got 3/],
    ['an invalid BOOL', 'BOOL', [2], '0102', /element 1 of BOOL: expected 0 or 1, got 2/],
    ['too many elements', 'BYTES', [2 ** 40, 2 ** 40], '00000000', /expected \d\S+ elements of BYTES/],
    ['too many elements of fixed size', 'FP64', [2 ** 50, 2 ** 50], '', /got 0\./],
    ['a truncated length', 'BYTES', [2], '0100000061000000', /element 1 of 2: expected its length/],
    ['a truncated element', 'BYTES', [1], '0500000061', /element 0 of 1: expected 5 bytes at 4, got 1/],
    ['the maximum length', 'BYTES', [1], 'ffffffff61', /expected 4294967295 bytes at 4, got 1/],
    ['bytes after the last element', 'BYTES', [1], '000000006161', /after element 1 at 4, got 2 bytes more/],
  ])('is rejected with the reason for %s', (_, datatype, shape, hex, message) => {
    expect(() => decodeRaw(datatype, shape, Buffer.from(hex, 'hex'))).toThrow(message);
  });

  test('of BYTES is either rejected or read back for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), fc.nat(8), (bytes, count) => {
        let decoded: ReturnType<typeof decodeRaw>;
        try {
          decoded = decodeRaw('BYTES', [count], bytes);
        } catch (error) {
          expect(error).toMatchObject({ name: 'MessageError' });
          return;
        }
        expect(decoded.data).toHaveLength(count);
        expect(Buffer.from(encodeRaw(decoded))).toEqual(Buffer.from(bytes));
      }),
    );
  });
});
