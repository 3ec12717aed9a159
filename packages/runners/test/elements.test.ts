import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { elementAt } from '../src/element.js';
import { float16Bits } from '../src/float16.js';
import { type Datatype, float16Value, newData, setElement } from '../src/index.js';
import { rowsOfTensor, tensorOfRows } from '../src/nested-rows.js';

describe('16-bit floats', () => {
  test('all of them convert to a number and back', () => {
    for (let bits = 0; bits < 0x10000; bits++) {
      const value = float16Value(bits);
      if (Number.isNaN(value)) expect(float16Value(float16Bits(value))).toBeNaN();
      else if (float16Bits(value) !== bits) throw new Error(`${bits} became ${float16Bits(value)}`);
    }
  });

  test.each([
    [1, 0x3c00],
    [-2, 0xc000],
    [65504, 0x7bff],
    [65519.99, 0x7bff],
    [65520, 0x7c00],
    [1e30, 0x7c00],
    [2 ** -24, 1],
    [2 ** -25, 0],
    [2 ** -25 * 1.01, 1],
    [1 + 2 ** -11, 0x3c00],
    [1 + 3 * 2 ** -11, 0x3c02],
    [0.00006103515625, 0x0400],
    [-0, 0x8000],
  ])('%d is rounded to the nearest', (value, bits) => {
    expect(float16Bits(value)).toBe(bits);
  });

  test('rounding finds the nearest value', () => {
    fc.assert(
      fc.property(fc.double({ min: -65000, max: 65000, noNaN: true }), (value) => {
        const single = Math.fround(value);
        const bits = float16Bits(single);
        const error = Math.abs(float16Value(bits) - single);
        for (const other of [bits - 1, bits + 1]) {
          const there = float16Value(other & 0xffff);
          if (Number.isFinite(there)) expect(Math.abs(there - single)).toBeGreaterThanOrEqual(error);
        }
      }),
    );
  });
});

test.each<[Datatype, readonly unknown[]]>([
  ['BOOL', [true, false]],
  ['UINT8', [0, 255]],
  ['INT8', [-128, 127]],
  ['UINT16', [65535]],
  ['INT32', [-(2 ** 31)]],
  ['UINT32', [2 ** 32 - 1]],
  ['INT64', [-5, 2n ** 62n]],
  ['UINT64', [7, 2n ** 63n]],
  ['FP16', [0.5, Number.POSITIVE_INFINITY]],
  ['FP32', [0.25, Number.NaN]],
  ['FP64', [0.1]],
  ['BYTES', ['', 'grüße']],
])('values of %s convert to elements and back', (datatype, values) => {
  const data = newData(datatype, 1);
  for (const value of values) {
    expect(setElement(datatype, data, 0, value)).toBe(true);
    expect(elementAt(datatype, data, 0)).toEqual(value);
  }
});

test.each<[Datatype, readonly unknown[]]>([
  ['BOOL', [2, 'true', null]],
  ['UINT8', [256, -1, 0.5, '1', Number.NaN, 1n]],
  ['INT32', [2 ** 31, undefined, true]],
  ['INT64', [0.5, 2 ** 60, 2n ** 63n, '1']],
  ['UINT64', [-1]],
  ['FP16', ['1']],
  ['FP32', [1n, '1', null, [1]]],
  ['BYTES', [1, null, ['a']]],
])('%s rejects values that it cannot represent', (datatype, values) => {
  for (const value of values) expect(setElement(datatype, newData(datatype, 1), 0, value)).toBe(false);
});

test('rows of open lengths convert to a tensor and back', () => {
  const lengths = fc.integer({ min: 1, max: 4 });
  fc.assert(
    fc.property(lengths, lengths, lengths, fc.integer({ min: 0, max: 2 }), (rows, height, width, dim) => {
      let next = 0;
      const nested = Array.from({ length: rows }, () =>
        Array.from({ length: height }, () => Array.from({ length: width }, () => next++)),
      );
      const spec = { name: 'x', datatype: 'INT32' as const, shape: [-1, -1, -1] };
      const tensor = tensorOfRows(spec, dim, nested);
      expect(tensor.shape).toEqual([height, width].toSpliced(dim, 0, rows));
      expect(rowsOfTensor(tensor, dim)).toEqual(nested);
    }),
  );
});

test('rows of different lengths are rejected', () => {
  const spec = { name: 'x', datatype: 'FP32' as const, shape: [-1, -1] };
  expect(() => tensorOfRows(spec, 0, [[1, 2], [3]])).toThrow(/rows of input "x"/);
});
