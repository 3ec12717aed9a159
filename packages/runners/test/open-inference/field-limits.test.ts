/**
 * Root cause: the size of a message was limited in bytes only, and a protobuf field of two bytes costs as much as
 * hundreds of bytes of packed data. Parts of `contents` were concatenated one by one, which copied the first part again
 * for each later part.
 */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { readInferRequest, readInferResponse, tensorsOfResponse } from '../../src/index.js';
import { readModelMetadata, readReadyResponse } from '../../src/open-inference/metadata-message.js';
import { tensorMessage } from '../../src/open-inference/tensor-message.js';
import { WireWriter } from '../../src/open-inference/wire-writer.js';

const EMPTY: Uint8Array = new Uint8Array(0);
const PARTS = 20_000;

function times(count: number, field: number, content = EMPTY): WireWriter {
  const message = new WireWriter();
  for (let index = 0; index < count; index++) message.bytes(field, content);
  return message;
}

function within(field: number, message: WireWriter): WireWriter {
  const outer = new WireWriter();
  outer.message(field, message);
  return outer;
}

describe('contents in many parts', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** FP32 [n] in one large part, followed by empty parts and one element in the last part. */
  function tensorInParts(): WireWriter {
    const large = new WireWriter();
    large.bytes(6, new Uint8Array(64 * 1024).fill(1));
    const last = new WireWriter();
    last.bytes(6, new Uint8Array(4).fill(2));
    const tensor = tensorMessage('x', 'FP32', [16 * 1024 + 1]);
    tensor.message(5, large);
    for (let index = 0; index < PARTS; index++) tensor.bytes(5, EMPTY);
    tensor.message(5, last);
    return within(5, tensor);
  }

  test.each([
    ['request', (bytes: Buffer) => readInferRequest(bytes).inputs[0]?.contents],
    ['response', (bytes: Buffer) => readInferResponse(bytes).outputs[0]?.contents],
  ])('of a %s are copied once', (_, read) => {
    const bytes = tensorInParts().finish();
    const concat = vi.spyOn(Buffer, 'concat');
    const contents = read(bytes) as Uint8Array;
    const copied = concat.mock.results.reduce((sum, { value }) => sum + (value as Buffer).length, 0);
    expect(copied).toBeLessThanOrEqual(bytes.length);
    expect(contents.length).toBe(64 * 1024 + 4 + 4 + 2);
    expect(contents.at(-1)).toBe(2);
  });

  test('are the elements of one tensor', () => {
    const { data } = tensorsOfResponse(readInferResponse(tensorInParts().finish())).get('x') ?? {};
    expect(data?.length).toBe(16 * 1024 + 1);
    expect(new Uint8Array((data as Float32Array).buffer).at(-1)).toBe(2);
  });
});

describe('a message with too many fields is rejected', () => {
  const MOST = 100;
  const more = (field: number) => times(MOST + 1, field);

  test.each<[string, WireWriter]>([
    ['model names', more(1)],
    ['parameters', more(4)],
    ['fields that are unknown', more(15)],
    ['names of an input', within(5, more(1))],
    ['parts of a shape', within(5, more(3))],
    ['parameters of an input', within(5, more(4))],
    ['parts of contents', within(5, more(5))],
    ['elements of BYTES', within(5, within(5, more(8)))],
    ['empty lists of elements', within(5, within(5, more(6)))],
    ['unknown fields of contents', within(5, within(5, more(15)))],
    ['keys of a parameter', within(5, within(4, more(1)))],
    ['names of an output', within(6, more(1))],
    ['parameters of an output', within(6, more(2))],
    ['inputs with a few parameters each', times(60, 5, times(1, 4).finish())],
  ])('request: %s', (_, message) => {
    expect(() => readInferRequest(message.finish(), MOST)).toThrow(
      'message: expected at most 100 protobuf fields, got more.',
    );
  });

  test('a request with the maximum number of fields is read', () => {
    expect(readInferRequest(within(6, times(MOST - 1, 1)).finish(), MOST).outputs).toEqual(['']);
  });

  test.each<[string, (bytes: Buffer) => unknown]>([
    ['request', readInferRequest],
    ['response', readInferResponse],
    ['metadata', readModelMetadata],
    ['readiness', readReadyResponse],
  ])('%s, by default', (_, read) => {
    const bytes = Buffer.alloc(4 * 1024 * 1024, Buffer.from([0x7a, 0]));
    expect(() => read(bytes)).toThrow(/^message: expected at most \d+ protobuf fields, got more\.$/);
  });
});

test('a response with too many elements of BYTES is rejected before they are decoded', () => {
  const response = within(5, tensorMessage('a', 'BYTES', [1]));
  response.message(5, tensorMessage('b', 'BYTES', [2 ** 20]));
  for (const count of [1, 2 ** 20]) response.bytes(6, new Uint8Array(4 * count));
  expect(() => tensorsOfResponse(readInferResponse(response.finish()))).toThrow(
    'outputs: expected at most 1048576 elements of BYTES, got 1048577.',
  );
});
