import type { IncomingHttpHeaders } from 'node:http';
import type { Signature } from '@batchwise/runners';
import { describe, expect, test } from 'vitest';
import { parseInferRequest } from '../../src/protocols/infer-request.js';
import { parseBody, refusalOfBody } from './infer-refusal.js';
import { echoSignature, ROWS_OF_4, spec } from './signatures.js';

function binary(json: unknown, tail: Buffer): [Buffer, Signature, IncomingHttpHeaders] {
  const head = Buffer.from(JSON.stringify(json));
  return [Buffer.concat([head, tail]), ROWS_OF_4, { 'inference-header-content-length': String(head.length) }];
}

describe('binary data', () => {
  const request = (size: unknown, shape = [1, 4]) => ({
    inputs: [{ name: 'input', shape, datatype: 'FP32', parameters: { binary_data_size: size } }],
  });
  const tail = Buffer.from(Float32Array.of(1, Number.NaN, Number.NEGATIVE_INFINITY, -0).buffer);

  test('is taken as it is, NaN and all', () => {
    const call = parseBody(...binary(request(16), tail));
    expect(call.request.inputs.get('input')?.data).toEqual(
      Float32Array.of(1, Number.NaN, Number.NEGATIVE_INFINITY, -0),
    );
  });

  test('is found wherever it lies in memory, copied only if it must be', () => {
    const [bytes, signature, headers] = binary(request(16), tail);
    for (let offset = 0; offset < 8; offset++) {
      const memory = Buffer.from(new ArrayBuffer(bytes.length + offset)).subarray(offset);
      bytes.copy(memory);
      const tensor = parseInferRequest(memory, headers, signature).request.inputs.get('input');
      expect(tensor?.data).toEqual(Float32Array.of(1, Number.NaN, Number.NEGATIVE_INFINITY, -0));
      const isAligned = (offset + bytes.length) % 4 === 0;
      const isView = tensor?.data instanceof Float32Array && tensor.data.buffer === memory.buffer;
      expect(isView).toBe(isAligned);
    }
  });

  test.each([
    [
      'too short a body',
      request(16),
      15,
      'inputs[0].parameters.binary_data_size: expected 16 bytes in the body, got 15.',
    ],
    [
      'too long a body',
      request(16),
      17,
      'body: expected 16 bytes of binary data, as declared by the inputs, got 1 more.',
    ],
    [
      'a size that is not that of the shape',
      request(12),
      12,
      'inputs[0].parameters.binary_data_size: expected 16 bytes, 4 of FP32 with 4 each, got 12.',
    ],
    [
      'a size that is no multiple of an element',
      request(15),
      15,
      'inputs[0].parameters.binary_data_size: expected 16 bytes, 4 of FP32 with 4 each, got 15.',
    ],
    [
      'a huge shape',
      request(16, [2 ** 49, 4]),
      16,
      'inputs[0].parameters.binary_data_size: expected 9007199254740992 bytes, 2251799813685248 of FP32 with 4 each, got 16.',
    ],
    [
      'a size that is text',
      request('16'),
      16,
      'inputs[0].parameters.binary_data_size: expected a whole number from 0 up, got "16".',
    ],
    [
      'bytes that nobody claims',
      { inputs: [{ name: 'input', shape: [1, 4], datatype: 'FP32', data: [1, 2, 3, 4] }] },
      4,
      'body: expected 0 bytes of binary data, as declared by the inputs, got 4 more.',
    ],
  ])('%s', (_, json, length, message) => {
    expect(refusalOfBody(...binary(json, Buffer.alloc(length)))).toBe(message);
  });

  test.each(['1e3', '-1', '', '0x10', '999999', '1, 2', '9'.repeat(400)])(
    'a header %j that is no length within the body is refused',
    (header) => {
      const message = refusalOfBody(request(16), ROWS_OF_4, { 'inference-header-content-length': header });
      expect(message).toContain(
        'header inference-header-content-length: expected the length of the JSON, a whole number up to the ',
      );
      expect(message.length).toBeLessThan(250);
    },
  );

  test('a header that cuts the JSON is told as broken JSON', () => {
    expect(refusalOfBody(request(16), ROWS_OF_4, { 'inference-header-content-length': '5' })).toContain(
      'body: expected JSON, but',
    );
    expect(refusalOfBody(request(16), ROWS_OF_4, { 'inference-header-content-length': '0' })).toBe(
      'body: expected a JSON object, got nothing.',
    );
  });

  test('a BOOL is 0 or 1', () => {
    const model = echoSignature(spec('mask', 'BOOL', [-1]));
    const json = {
      inputs: [{ name: 'mask', shape: [3], datatype: 'BOOL', parameters: { binary_data_size: 3 } }],
    };
    const [bytes, , headers] = binary(json, Buffer.of(1, 0, 2));
    expect(refusalOfBody(bytes, model, headers)).toBe(
      'inputs[0].parameters.binary_data_size: element 2 of BOOL: expected 0 or 1, got 2.',
    );
  });

  test.each([
    [
      'a length that is cut',
      2,
      '01000000 61 020000',
      'element 1 of 2: expected its length in 4 bytes at 5, got 3.',
    ],
    ['a text that is cut', 1, '05000000 61', 'element 0 of 1: expected 5 bytes at 4, got 1.'],
    ['a length of 4 GiB', 1, 'ffffffff 61', 'element 0 of 1: expected 4294967295 bytes at 4, got 1.'],
    ['bytes behind the last', 1, '01000000 61 62', 'expected to end after element 1 at 5, got 1 bytes more.'],
    [
      'more elements than bytes',
      1e9,
      '00000000',
      'expected 1000000000 elements of BYTES, each after its length in 4 bytes, got 4 bytes in all.',
    ],
  ])('texts: %s', (_, count, hex, message) => {
    const model = echoSignature(spec('text', 'BYTES', [-1]));
    const texts = Buffer.from(hex.replaceAll(' ', ''), 'hex');
    const json = {
      inputs: [
        { name: 'text', shape: [count], datatype: 'BYTES', parameters: { binary_data_size: texts.length } },
      ],
    };
    const [bytes, , headers] = binary(json, texts);
    expect(refusalOfBody(bytes, model, headers)).toBe(`inputs[0].parameters.binary_data_size: ${message}`);
  });
});
