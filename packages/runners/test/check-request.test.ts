import { type BatchwiseError, BatchwiseError as ErrorClass } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  checkRequest,
  type InferRequest,
  rowDimOf,
  type Signature,
  type Tensor,
  whyNotBatchable,
} from '../src/index.js';
import { floats } from './support/fake-model.js';
import { settingsWith } from './support/settings.js';

const SIGNATURE: Signature = {
  inputs: [
    { name: 'x', datatype: 'FP32', shape: [-1, 2] },
    { name: 'ids', datatype: 'INT64', shape: [-1, -1] },
  ],
  outputs: [{ name: 'y', datatype: 'FP32', shape: [-1] }],
};

function ids(shape: readonly number[]): Tensor {
  return { datatype: 'INT64', shape, data: new BigInt64Array(shape.reduce((a, b) => a * b, 1)) };
}

function requestOf(x: Tensor, id: Tensor, outputs?: readonly string[]): InferRequest {
  const inputs = new Map([
    ['x', x],
    ['ids', id],
  ]);
  return { inputs, outputs };
}

const good = requestOf(floats([2, 2], [1, 2, 3, 4]), ids([2, 5]));

function complaint(request: unknown, rowDim: number | undefined = 0): string {
  try {
    checkRequest(SIGNATURE, rowDim, request as InferRequest);
  } catch (error) {
    expect((error as BatchwiseError).code).toBe('INVALID_ITEM');
    return (error as Error).message;
  }
  return 'none';
}

test('returns the number of rows of a valid request', () => {
  expect(checkRequest(SIGNATURE, 0, good)).toBe(2);
  expect(checkRequest(SIGNATURE, 0, { ...good, outputs: ['y'] })).toBe(2);
});

test('inputs may differ in their first dimension if rows are not counted', () => {
  const request = requestOf(floats([2, 2], [1, 2, 3, 4]), ids([0, 5]));
  expect(checkRequest(SIGNATURE, undefined, request)).toBe(1);
  expect(complaint(request)).toMatch(/at least 1 row/);
});

describe('the error has the location, the expected and the received value', () => {
  const x = floats([2, 2], [1, 2, 3, 4]);
  test.each<[string, unknown, RegExp]>([
    ['no map', { inputs: { x } }, /inputs: expected a Map/],
    ['nothing', undefined, /inputs: expected a Map/],
    [
      'a missing input',
      { inputs: new Map([['x', x]]) },
      /input "ids" is missing: expected INT64 of shape \[-1,-1\], got only "x"/,
    ],
    ['no inputs', { inputs: new Map() }, /input "x" is missing.*got no inputs/],
    [
      'an unknown input',
      { inputs: new Map([...good.inputs, ['z', x]]) },
      /input "z" is unknown; the inputs of the model are "x", "ids"/,
    ],
    [
      'a property of Object.prototype as a name',
      { inputs: new Map([...good.inputs, ['__proto__', x]]) },
      /input "__proto__" is unknown/,
    ],
    [
      'another datatype',
      requestOf(ids([2, 2]), ids([2, 2])),
      /input "x": expected datatype FP32, got "INT64"/,
    ],
    [
      'another rank',
      requestOf(floats([4], [1, 2, 3, 4]), ids([2, 2])),
      /input "x": expected shape \[-1,2\] \(-1 is any length\), got shape \[4\]/,
    ],
    [
      'another length',
      requestOf(floats([1, 4], [1, 2, 3, 4]), ids([1, 2])),
      /input "x": expected shape \[-1,2\].*got shape \[1,4\]/,
    ],
    ['a negative length', requestOf(x, { ...ids([1, 1]), shape: [-1, -1] }), /input "ids": expected shape/],
    ['half a length', requestOf({ ...x, shape: [0.5, 2] }, ids([1, 1])), /input "x": expected shape/],
    [
      'too few elements',
      requestOf({ ...x, shape: [3, 2] }, ids([3, 1])),
      /input "x": expected 6 elements for shape \[3,2\], got 4/,
    ],
    [
      'a shape with too many elements',
      requestOf(x, { ...ids([1, 1]), shape: [2 ** 52, 2 ** 52] }),
      /input "ids": expected .* elements/,
    ],
    [
      'data in another array',
      requestOf({ ...x, data: new Float64Array(4) }, ids([2, 1])),
      /input "x": expected data as a Float32Array, got a Float64Array/,
    ],
    ['data in a plain array', requestOf({ ...x, data: [1, 2, 3, 4] as never }, ids([2, 1])), /got an array/],
    [
      'no rows',
      requestOf(floats([0, 2], []), ids([0, 1])),
      /input "x": expected at least 1 row along dimension 0, got shape \[0,2\]/,
    ],
    [
      'another number of rows in another input',
      requestOf(x, ids([3, 1])),
      /input "ids": expected as many rows as input "x" \(2\), got 3/,
    ],
    [
      'an unknown output',
      { ...good, outputs: ['z'] },
      /output "z" is unknown; the outputs of the model are "y"/,
    ],
    ['outputs that are not a list', { ...good, outputs: 'y' }, /outputs: expected a list/],
  ])('%s', (_, request, expected) => {
    expect(complaint(request)).toMatch(expected);
  });
});

test('an error message truncates large input', () => {
  const name = 'n'.repeat(100_000);
  expect(complaint({ inputs: new Map([...good.inputs, [name, floats([1], [1])]]) }).length).toBeLessThan(300);
  const shape = new Array(10_000).fill(1);
  expect(complaint(requestOf({ ...floats([1], [1]), shape }, ids([1, 1]))).length).toBeLessThan(300);
});

test('any request results in a number of rows or INVALID_ITEM', () => {
  fc.assert(
    fc.property(fc.anything(), fc.anything(), fc.anything(), (shape, data, datatype) => {
      const tensor = { datatype, shape, data } as unknown as Tensor;
      try {
        expect(checkRequest(SIGNATURE, 0, requestOf(tensor, tensor))).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toBeInstanceOf(ErrorClass);
      }
    }),
  );
});

describe('requests can be concatenated', () => {
  const settings = settingsWith();
  const of = (input: number[], output: number[]): Signature => ({
    inputs: [{ name: 'x', datatype: 'FP32', shape: input }],
    outputs: [{ name: 'y', datatype: 'FP32', shape: output }],
  });

  test('when the batch dimension is open in inputs and outputs', () => {
    expect(rowDimOf(of([-1, 4], [-1]), settings)).toBe(0);
    expect(rowDimOf(of([4, -1], [-1]), settingsWith({ batchDim: [1, 0] }))).toBe(1);
  });

  test.each([
    ['a fixed input', of([1, 4], [-1]), /dimension 0 of input "x" of shape \[1,4\] is fixed at 1/],
    ['a fixed output', of([-1, 4], [1, 3]), /output "y".*fixed at 1/],
    ['a scalar', of([], [-1]), /input "x" of shape \[\] has no dimension 0/],
    ['no inputs', { inputs: [], outputs: [] }, /takes no inputs/],
  ] as [string, Signature, RegExp][])('not with %s', (_, signature, why) => {
    expect(whyNotBatchable(signature, settings)).toMatch(why);
    expect(rowDimOf(signature, settings)).toBeUndefined();
  });

  test('not without batchable: true', () => {
    expect(whyNotBatchable(of([-1], [-1]), settingsWith({ batchable: false }))).toMatch(/not declared/);
  });
});
