import { expect, test } from 'vitest';
import type { Signature, Tensor, TensorSpec } from '../src/index.js';
import { signatureWithExample } from '../src/signature-with-example.js';
import { floats } from './support/fake-model.js';

const bytes = (...elements: string[]): Tensor => ({
  datatype: 'BYTES',
  shape: [elements.length],
  data: elements.map((text) => Buffer.from(text)),
});

function exampleOf(spec: Omit<TensorSpec, 'name'>, tensor: Tensor): unknown {
  const signature: Signature = { inputs: [{ name: 'x', ...spec }], outputs: [] };
  return signatureWithExample(signature, new Map([['x', tensor]])).inputs[0]?.example;
}

test('the first row of the example is that of the input', () => {
  expect(exampleOf({ datatype: 'FP32', shape: [-1, 2] }, floats([2, 2], [1, 2, 3, 4]))).toEqual([1, 2]);
  expect(exampleOf({ datatype: 'BYTES', shape: [-1] }, bytes('a', 'b'))).toBe('a');
  const json = { datatype: 'BYTES', shape: [-1], content: 'json' } as const;
  expect(exampleOf(json, bytes('{"text":"a"}'))).toEqual({ text: 'a' });
});

test('an integer that JSON would round is a text', () => {
  const tensor: Tensor = { datatype: 'INT64', shape: [1], data: BigInt64Array.of(2n ** 53n + 1n) };
  expect(exampleOf({ datatype: 'INT64', shape: [-1] }, tensor)).toBe('9007199254740993');
});

test('a long row is no example', () => {
  const image = floats([1, 2049], new Array(2049).fill(0));
  expect(exampleOf({ datatype: 'FP32', shape: [-1, 2049] }, image)).toBeUndefined();
  expect(exampleOf({ datatype: 'BYTES', shape: [-1] }, bytes('a'.repeat(20_000)))).toBeUndefined();
});

test('a model without an example has the same signature', () => {
  const signature: Signature = { inputs: [{ name: 'x', datatype: 'FP32', shape: [-1] }], outputs: [] };
  expect(signatureWithExample(signature, undefined)).toBe(signature);
});
