import { decodeTyped, readInferRequest } from '@batchwise/runners';
import type { MessageTypeDefinition } from '@grpc/proto-loader';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inferRequest } from '../../src/grpc/infer-request.js';
import { type Message, packages } from './support/inference-client.js';

const { serialize } = packages['inference.ModelInferRequest'] as MessageTypeDefinition<Message, Message>;
const encoded = (request: Message) => serialize(request);

const REQUEST: Message = {
  model_name: 'm',
  id: '\ufeffü',
  parameters: { p: { string_param: 'v' } },
  inputs: [
    { name: 'a', datatype: 'INT64', shape: [2], contents: { int64_contents: ['-1', '4611686018427387904'] } },
    { name: 'b', datatype: 'FP32', shape: [1, 2], contents: { fp32_contents: [0.5, -1] } },
    { name: 'c', datatype: 'BYTES', shape: [1], contents: { bytes_contents: [Buffer.from('x')] } },
  ],
  outputs: [{ name: 'y', parameters: { q: { bool_param: true } } }],
};

describe('a request', () => {
  test('is read as another implementation has written it', () => {
    const message = readInferRequest(encoded(REQUEST));
    expect(message).toMatchObject({ modelName: 'm', modelVersion: '', id: '\ufeffü', outputs: ['y'] });
    expect(message.inputs.map(({ name, shape }) => [name, shape])).toEqual([
      ['a', [2]],
      ['b', [1, 2]],
      ['c', [1]],
    ]);
    const { inputs } = inferRequest(message, undefined);
    expect(inputs.get('a')?.data).toEqual(BigInt64Array.of(-1n, 2n ** 62n));
    expect(inputs.get('b')?.data).toEqual(Float32Array.of(0.5, -1));
    expect(inputs.get('c')?.data.length).toBe(1);
  });

  test('keeps its parts apart, whatever follows, whatever is unknown', () => {
    const unknown = Buffer.from('f80601fa0602abcdfd0600000000f9060000000000000000', 'hex');
    const message = readInferRequest(Buffer.concat([unknown, encoded(REQUEST), unknown]));
    expect(message).toEqual(readInferRequest(encoded(REQUEST)));
  });

  test('may give elements one by one, and its contents in parts', () => {
    // Two times field 5 of an input: INT32 -1 alone and 2 packed; then 3 alone.
    const first = Buffer.from('10ffffffffffffffffff011201021203', 'hex').subarray(0, 14);
    const second = Buffer.from('1003', 'hex');
    const input = Buffer.concat([
      Buffer.from('0a017812', 'hex'),
      Buffer.of(5),
      Buffer.from('INT32'),
      Buffer.from('1803', 'hex'),
      Buffer.of(0x2a, first.length),
      first,
      Buffer.of(0x2a, second.length),
      second,
    ]);
    const message = readInferRequest(Buffer.concat([Buffer.of(0x2a, input.length), input]));
    expect(message.inputs).toMatchObject([{ name: 'x', datatype: 'INT32', shape: [3] }]);
    expect(inferRequest(message, undefined).inputs.get('x')?.data).toEqual(Int32Array.of(-1, 2, 3));
  });

  test.each([
    ['inputs', { inputs: new Array(1025).fill({}) }, 'inputs: expected at most 1024, got more.'],
    ['outputs', { outputs: new Array(1025).fill({}) }, 'outputs: expected at most 1024, got more.'],
    [
      'raw contents',
      { raw_input_contents: new Array(1025).fill(Buffer.alloc(0)) },
      'raw_input_contents: expected at most 1024, got more.',
    ],
    [
      'dimensions',
      { inputs: [{ shape: new Array(65).fill(1) }] },
      'inputs[0].shape: expected at most 64 dimensions, got more.',
    ],
  ])('with too many %s is refused before they are held', (_, request, message) => {
    expect(() => readInferRequest(encoded(request))).toThrow(message);
  });

  test('may have so many elements of BYTES in all of its inputs together', () => {
    const strings = (name: string, count: number): Message => ({
      name,
      datatype: 'BYTES',
      shape: [count, 1],
      contents: { bytes_contents: new Array(count).fill(Buffer.alloc(0)) },
    });
    const message = readInferRequest(encoded({ inputs: [strings('a', 3), strings('b', 2)] }));
    expect(inferRequest(message, undefined, 5).inputs.size).toBe(2);
    expect(() => inferRequest(message, undefined, 4)).toThrow(
      'inputs[1]: expected at most 4 elements of BYTES in a request, got 5 (see server.limits.body_bytes).',
    );
  });

  test('that is cut off anywhere, or damaged, is read or refused, never anything else', () => {
    const whole = encoded(REQUEST);
    const damage = fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { maxLength: 4 });
    fc.assert(
      fc.property(fc.nat(whole.length), damage, (length, changes) => {
        const bytes = Buffer.from(whole);
        for (const [at, value] of changes) bytes[at] = value;
        try {
          inferRequest(readInferRequest(bytes.subarray(0, length)), undefined);
        } catch (error) {
          expect(['MessageError', 'RequestError']).toContain((error as Error).name);
        }
      }),
      { numRuns: 1000 },
    );
  });

  test('of any bytes is read or refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          inferRequest(readInferRequest(bytes), undefined);
        } catch (error) {
          expect(['MessageError', 'RequestError']).toContain((error as Error).name);
        }
      }),
    );
  });
});

describe('typed contents', () => {
  test.each([
    ['a packed FP32 that is truncated', 'FP32', '3203000000', /fp32_contents: the last element is truncated/],
    ['a packed number that is truncated', 'INT32', '120180', /int_contents: the last element is truncated/],
    [
      'an FP32 of another width',
      'FP32',
      '310000000000000000',
      /fp32_contents: the last element is truncated/,
    ],
    ['a number that never ends', 'INT32', '10ffffffffffffffffffffff01', /a number of at most ten bytes/],
    ['a packed number that never ends', 'INT32', '120cffffffffffffffffffffff01', /at most ten bytes/],
    ['a length beyond the end', 'BYTES', '42ff01', /expected 255 bytes \(only 0 left\)/],
    ['the end of a group', 'BYTES', '44', /a field of a known type/],
    ['field 0', 'BYTES', '0200', /expected a field/],
  ] as const)('refuse %s', (_, datatype, hex, message) => {
    expect(() => decodeTyped(datatype, [1], Buffer.from(hex, 'hex'))).toThrow(message);
  });
});
