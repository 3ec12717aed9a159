import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concatTensors } from '../src/concat-tensors.js';
import { byteLength, bytesPerElement, datatypeOfOnnx, isDataOf, onnxTypeOf } from '../src/datatype.js';
import { DATATYPES, type Datatype, elementCount, isDatatype, newData, type Tensor } from '../src/index.js';
import { sliceTensor, splitTensor } from '../src/split-tensor.js';
import { floats, numbersOf } from './support/fake-model.js';

describe('datatypes', () => {
  test.each(DATATYPES)('%s maps to an ONNX type and back', (datatype) => {
    expect(datatypeOfOnnx(onnxTypeOf(datatype))).toBe(datatype);
    expect(isDatatype(datatype)).toBe(true);
  });

  test.each(DATATYPES)('new data of %s has the width of the datatype', (datatype) => {
    const data = newData(datatype, 3);
    expect(data).toHaveLength(3);
    expect(isDataOf(datatype, data)).toBe(true);
    expect(byteLength({ datatype, shape: [3], data })).toBe(3 * (bytesPerElement(datatype) ?? 0));
  });

  test('properties of Object.prototype are not datatypes', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'fp32', '', 7]) {
      expect(isDatatype(name)).toBe(false);
    }
    expect(datatypeOfOnnx('int4')).toBeUndefined();
  });

  test('the bytes of BYTES are counted', () => {
    const data = [new Uint8Array(3), new Uint8Array(0), new Uint8Array(4)];
    expect(byteLength({ datatype: 'BYTES', shape: [3], data })).toBe(7);
  });
});

/** Tensors that differ only in their rows along `dim`. */
const families = fc
  .record({
    datatype: fc.constantFrom<Datatype>('FP32', 'INT64', 'UINT8', 'BYTES'),
    shape: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 4 }),
    dimSeed: fc.nat(),
    rowCounts: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 5 }),
  })
  .map(({ datatype, shape, dimSeed, rowCounts }) => {
    const dim = dimSeed % shape.length;
    let next = 0;
    const tensors = rowCounts.map((rows) => tensorOf(datatype, shape.with(dim, rows), () => next++));
    return { tensors, dim, rowCounts };
  });

function tensorOf(datatype: Datatype, shape: readonly number[], next: () => number): Tensor {
  const data = newData(datatype, elementCount(shape));
  for (let i = 0; i < data.length; i++) {
    const value = next();
    if (datatype === 'BYTES') (data as Uint8Array[])[i] = Uint8Array.of(value);
    else if (datatype === 'INT64') (data as BigInt64Array)[i] = BigInt(value);
    else (data as Float32Array)[i] = value;
  }
  return { datatype, shape, data };
}

test('concatenating along any dimension and splitting returns the same tensors', () => {
  fc.assert(
    fc.property(families, ({ tensors, dim, rowCounts }) => {
      const whole = concatTensors(tensors, dim);
      expect(whole.data).toHaveLength(elementCount(whole.shape));
      expect(splitTensor(whole, dim, rowCounts)).toEqual(tensors);
    }),
  );
});

test('splitting anywhere and concatenating returns the same tensor', () => {
  fc.assert(
    fc.property(families, fc.nat(), ({ tensors, dim }, cutSeed) => {
      const whole = concatTensors(tensors, dim);
      const rows = whole.shape[dim] as number;
      const cut = cutSeed % (rows + 1);
      const parts = [sliceTensor(whole, dim, 0, cut), sliceTensor(whole, dim, cut, rows)];
      expect(concatTensors(parts, dim)).toEqual(whole);
    }),
  );
});

test('concatenating along dimension 1 interleaves the rows', () => {
  const left = floats([2, 1], [1, 4]);
  const right = floats([2, 2], [2, 3, 5, 6]);
  expect(concatTensors([left, right], 1)).toEqual(floats([2, 3], [1, 2, 3, 4, 5, 6]));
});

test('along the first dimension parts are views, not copies', () => {
  const whole = floats([3, 2], [1, 2, 3, 4, 5, 6]);
  for (const part of splitTensor(whole, 0, [1, 2])) {
    expect((part.data as Float32Array).buffer).toBe((whole.data as Float32Array).buffer);
  }
});

test('a single tensor is not copied', () => {
  const only = floats([1, 2], [1, 2]);
  expect(concatTensors([only], 0)).toBe(only);
});

test('views of a pooled Buffer are concatenated correctly', () => {
  const pooled = Buffer.from([7, 8]);
  const tensor: Tensor = { datatype: 'UINT8', shape: [2], data: pooled };
  expect(numbersOf(concatTensors([tensor, tensor], 0))).toEqual([7, 8, 7, 8]);
});

test.each([
  [
    'another datatype',
    floats([1, 2], [1, 2]),
    { datatype: 'INT8', shape: [1, 2], data: new Int8Array(2) },
    0,
  ],
  ['another rank', floats([1, 2], [1, 2]), floats([2], [1, 2]), 0],
  ['another length in another dimension', floats([1, 2], [1, 2]), floats([1, 3], [1, 2, 3]), 0],
  ['a missing dimension', floats([2], [1, 2]), floats([2], [1, 2]), 1],
] as [string, Tensor, Tensor, number][])('tensors with %s cannot be concatenated', (_, a, b, dim) => {
  expect(() => concatTensors([a, b], dim)).toThrow(RangeError);
});

test('splitting into another number of rows throws', () => {
  expect(() => splitTensor(floats([3], [1, 2, 3]), 0, [1, 1])).toThrow(/shape \[3\].*2 rows.*dimension 0/);
  expect(() => splitTensor(floats([3], [1, 2, 3]), 1, [3])).toThrow(RangeError);
});
