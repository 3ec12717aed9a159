import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  DATATYPES,
  elementCount,
  newData,
  requestToData,
  resultFromData,
  type Tensor,
  type Tensors,
} from '../src/index.js';
import { isRequestData, requestFromData, resultToData } from '../src/request-data.js';
import { floats } from './support/fake-model.js';

/** Simulates the transport: the same content, with bytes at any offset of the received message. */
function travelled(value: unknown): unknown {
  if (value instanceof Uint8Array) {
    const wire = Buffer.alloc(value.byteLength + 3);
    wire.set(value, 3);
    return wire.subarray(3);
  }
  if (Array.isArray(value)) return value.map(travelled);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, travelled(part)]));
}

const shape = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 });

const tensor: fc.Arbitrary<Tensor> = fc
  .record({ datatype: fc.constantFrom(...DATATYPES), shape, seed: fc.infiniteStream(fc.nat(255)) })
  .map(({ datatype, shape: lengths, seed }) => {
    const length = elementCount(lengths);
    const bytes = (count: number) => Uint8Array.from({ length: count }, () => seed.next().value as number);
    if (datatype === 'BYTES') {
      const data = Array.from({ length }, () => bytes((seed.next().value as number) % 5));
      return { datatype, shape: lengths, data };
    }
    const data = newData(datatype, length) as Float32Array;
    new Uint8Array(data.buffer).set(bytes(data.byteLength));
    return { datatype, shape: lengths, data };
  });

const tensors: fc.Arbitrary<Tensors> = fc
  .array(fc.tuple(fc.oneof(fc.constant('__proto__'), fc.string()), tensor), { maxLength: 4 })
  .map((entries) => new Map(entries));

/** Compared bit for bit, because NaN has many bit patterns. */
function bitsOf(some: Tensors): unknown {
  return [...some].map(([name, { datatype, shape: lengths, data }]) => {
    const parts = datatype === 'BYTES' ? (data as readonly Uint8Array[]) : [data as Float32Array];
    const bits = parts.map((part) =>
      Buffer.from(part.buffer, part.byteOffset, part.byteLength).toString('hex'),
    );
    return [name, datatype, lengths, data.constructor.name, bits];
  });
}

test('requests of every datatype and shape survive the transport', () => {
  fc.assert(
    fc.property(tensors, fc.option(fc.array(fc.string()), { nil: undefined }), (inputs, outputs) => {
      const data = travelled(requestToData({ inputs, outputs }));
      expect(isRequestData(data)).toBe(true);
      const request = requestFromData(data);
      expect(bitsOf(request.inputs)).toEqual(bitsOf(inputs));
      expect(request.outputs).toEqual(outputs);
    }),
  );
});

test('results survive the transport, with the size and duration of their batch', () => {
  fc.assert(
    fc.property(tensors, (outputs) => {
      const data = travelled(resultToData(outputs, { batchSize: 7, queueMs: 3, computeMs: 1.5 }));
      const result = resultFromData(data);
      expect(bitsOf(result.tensors)).toEqual(bitsOf(outputs));
      expect(result).toMatchObject({ batchSize: 7, computeMs: 1.5 });
    }),
  );
});

test('a view of a larger tensor sends only its own bytes', () => {
  const whole = new Float32Array([1, 2, 3, 4]);
  const part: Tensor = { datatype: 'FP32', shape: [1, 2], data: whole.subarray(2) };
  const [, , , bytes] = requestToData({ inputs: new Map([['x', part]]) }).inputs[0] ?? [];
  expect((bytes as Uint8Array).byteLength).toBe(8);
});

test('rows of a model are not requests for any names of its inputs', () => {
  const rows = [
    [0.1, 0.2],
    [[1], [2]],
    3,
    'text',
    null,
    undefined,
    { inputs: [1, 2] },
    { inputs: [['a', 'b']] },
    { x: 1 },
  ];
  expect(rows.filter(isRequestData)).toEqual([]);
  expect(isRequestData(requestToData({ inputs: new Map([['inputs', floats([1], [1])]]) }))).toBe(true);
});

const four = new Uint8Array(4);

test.each<[string, unknown, string]>([
  ['nothing', null, 'expected a request, got null'],
  ['no list of inputs', { inputs: {} }, 'inputs: expected a list of tensors'],
  ['no name', { inputs: [[1, 'FP32', [1], four]] }, 'inputs[0]: expected a name'],
  ['no tensor at all', { inputs: [7] }, 'inputs[0]: expected a name'],
  ['an unknown datatype', { inputs: [['x', 'FP8', [1], four]] }, 'inputs[0]: expected a datatype'],
  ['no shape', { inputs: [['x', 'FP32', 1, four]] }, 'inputs[0]: expected a shape'],
  ['a negative length', { inputs: [['x', 'FP32', [-1], four]] }, 'inputs[0]: expected a shape'],
  ['too few bytes', { inputs: [['x', 'FP32', [2], four]] }, 'inputs[0]: expected 8 bytes'],
  ['numbers instead of bytes', { inputs: [['x', 'FP32', [1], [1]]] }, 'inputs[0]: expected 4 bytes'],
  [
    'strings instead of bytes',
    { inputs: [['x', 'BYTES', [1], ['a']]] },
    'inputs[0]: expected 1 arrays of bytes',
  ],
  [
    'too many elements',
    { inputs: [['x', 'BYTES', [1], [four, four]]] },
    'inputs[0]: expected 1 arrays of bytes',
  ],
  ['outputs that are not names', { inputs: [], outputs: [1] }, 'outputs: expected a list of names'],
])('a request with %s is rejected with the expected value', (_, data, message) => {
  expect(() => requestFromData(data)).toThrow(new TypeError(message));
});

test('a huge shape is rejected before the allocation', () => {
  const data = { inputs: [['x', 'FP64', [2 ** 30, 2 ** 20], four]] };
  expect(() => requestFromData(data)).toThrow(/expected \d+ bytes/);
});
