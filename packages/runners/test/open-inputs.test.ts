import { expect, test } from 'vitest';
import { groupKeyOf } from '../src/group-key.js';
import { checkRequest, type Signature, signatureOfJson, type Tensor } from '../src/index.js';
import { rowsOfTensor, tensorOfRows } from '../src/nested-rows.js';
import { floats } from './support/fake-model.js';

const OPEN: Signature = signatureOfJson({
  inputs: [{ name: 'x', datatype: 'FP32', shape: [-1, -1], any_datatype: true, any_shape: true }],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1], parameters: { any_shape: true } }],
});
const [X] = OPEN.inputs as [Signature['inputs'][number]];

const inputs = (tensor: Tensor) => new Map([['x', tensor]]);
const rowsOf = (tensor: Tensor) => checkRequest(OPEN, 0, { inputs: inputs(tensor), outputs: undefined });
const ids: Tensor = { datatype: 'INT64', shape: [2, 3], data: new BigInt64Array(6) };

test('the metadata says what is open', () => {
  expect(X).toEqual({ name: 'x', datatype: 'FP32', shape: [-1, -1], anyDatatype: true, anyShape: true });
  expect(OPEN.outputs[0]).toEqual({ name: 'y', datatype: 'FP32', shape: [-1], anyShape: true });
});

test('a request has any datatype and at least one dimension', () => {
  expect(rowsOf(floats([4], [1, 2, 3, 4]))).toBe(4);
  expect(rowsOf(floats([1, 2, 2], [1, 2, 3, 4]))).toBe(1);
  expect(rowsOf(ids)).toBe(2);
  expect(() => rowsOf(floats([], [1]))).toThrow('expected shape');
  expect(() => rowsOf(floats(new Array(33).fill(1), [1]))).toThrow('expected shape');
  expect(() => rowsOf({ ...ids, datatype: 'INT65' as 'INT64' })).toThrow('datatype');
  expect(() => rowsOf({ ...ids, datatype: 'FP32' })).toThrow('data as a Float32Array');
});

test('requests of another datatype or shape are in another group', () => {
  const keyOf = groupKeyOf(OPEN, 0);
  const key = (tensor: Tensor) => keyOf?.(inputs(tensor));
  expect(key(floats([1, 2], [1, 2]))).toBe(key(floats([2, 2], [1, 2, 3, 4])));
  const keys = [
    floats([2], [1, 2]),
    floats([2, 1], [1, 2]),
    floats([2, 1, 1], [1, 2]),
    ids,
    floats([2, 3], [1, 2, 3, 4, 5, 6]),
  ].map(key);
  expect(new Set(keys).size).toBe(keys.length);
});

test.each<[string, unknown[], Tensor['datatype'], number[]]>([
  ['numbers', [1, 2], 'FP32', [2]],
  ['arrays', [[[1, 2]], [[3, 4]]], 'FP32', [2, 1, 2]],
  ['texts', ['a', 'b'], 'BYTES', [2]],
  ['booleans', [[true], [false]], 'BOOL', [2, 1]],
  ['typed arrays', [new Float64Array(3), new Float64Array(3)], 'FP64', [2, 3]],
  ['bytes', [new Uint8Array(3)], 'UINT8', [1, 3]],
])('rows of %s are a tensor of their datatype and shape', (_, rows, datatype, shape) => {
  const tensor = tensorOfRows(X, 0, rows);
  expect(tensor).toMatchObject({ datatype, shape });
  expect(rowsOfTensor(tensor, 0)).toEqual(
    rows.map((row) => (ArrayBuffer.isView(row) ? [...(row as Uint8Array)] : row)),
  );
});

test('a row of another shape than the first is invalid', () => {
  expect(() => tensorOfRows(X, 0, [[1], [1, 2]])).toThrow('cannot be concatenated');
  expect(() => tensorOfRows(X, 0, [[1], 'a'])).toThrow('row 1 of input "x": expected nested arrays');
});
