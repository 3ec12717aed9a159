import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeFrame, type Frame, FrameReader, tensorsOf } from '../../src/python/model-frame.js';
import { arbitraryTensors, comparable } from '../support/arbitrary-tensors.js';

function framesIn(chunks: readonly Buffer[]): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader();
  for (const chunk of chunks) reader.push(chunk, (frame) => frames.push(frame));
  return frames;
}

/** Cuts a buffer at random places. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, i) => bytes.subarray(at[i], end));
}

function prefix(magic: string, headerBytes: number, bodyBytes: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.write(magic, 0, 'latin1');
  bytes.writeUInt32LE(headerBytes, 4);
  bytes.writeBigUInt64LE(BigInt(bodyBytes), 8);
  return bytes;
}

function withHeader(header: unknown, body = Buffer.alloc(0)): Buffer {
  const text = JSON.stringify(header);
  const padded = Buffer.from(text.padEnd((text.length + 7) & ~7));
  return Buffer.concat([prefix('BWM1', padded.length, body.length), padded, body]);
}

test('frames survive a stream that is cut anywhere', () => {
  const places = fc.array(fc.nat(), { maxLength: 8 });
  fc.assert(
    fc.property(fc.array(arbitraryTensors(), { minLength: 1, maxLength: 3 }), places, (batches, cuts) => {
      const bytes = Buffer.concat(
        batches.flatMap((tensors, id) => encodeFrame({ kind: 'infer', id }, tensors)),
      );
      const frames = framesIn(cut(bytes, cuts));
      expect(frames.map(({ header }) => header.id)).toEqual(batches.map((_, id) => id));
      expect(frames.map((frame) => comparable(tensorsOf(frame)))).toEqual(batches.map(comparable));
    }),
  );
});

test('each tensor starts at a multiple of 8 bytes and is a view of the body', () => {
  const tensors = new Map([
    ['a', { datatype: 'INT8', shape: [3], data: Int8Array.of(1, 2, 3) }],
    ['b', { datatype: 'FP64', shape: [1], data: Float64Array.of(0.5) }],
  ] as const);
  const [frame] = framesIn(encodeFrame({ kind: 'infer' }, tensors));
  expect(frame?.body).toHaveLength(16);
  const data = tensorsOf(frame as Frame).get('b')?.data as Float64Array;
  expect([data.buffer === frame?.body.buffer, data.byteOffset % 8]).toEqual([true, 0]);
});

describe('a malformed frame is rejected', () => {
  const tensor = { name: 'a', datatype: 'FP32', shape: [2], bytes: 8 };
  test.each([
    ['another magic', prefix('GET ', 8, 0), /begin with BWM1/],
    ['an empty header', prefix('BWM1', 0, 0), /header: expected at most/],
    ['a header that is too long', prefix('BWM1', 2 ** 20 + 8, 0), /header: expected at most/],
    ['a header of odd length', prefix('BWM1', 9, 0), /multiple of 8/],
    ['a body that is too long', prefix('BWM1', 8, 2 ** 40), /body: expected at most/],
    [
      'a header that is not JSON',
      Buffer.concat([prefix('BWM1', 8, 0), Buffer.from('{"kind" ')]),
      /expected JSON/,
    ],
    ['a header that is a list', withHeader([1]), /expected a JSON object/],
  ])('%s', (_, bytes, message) => {
    expect(() => framesIn([bytes])).toThrow(message);
  });

  test.each([
    ['a tensor without a name', [{ ...tensor, name: undefined }], 8, /expected \{ name, datatype/],
    ['an unknown datatype', [{ ...tensor, datatype: 'FP8' }], 8, /expected \{ name, datatype/],
    ['a negative length', [{ ...tensor, shape: [-1] }], 8, /expected \{ name, datatype/],
    ['a body that ends too early', [tensor], 0, /the body ends before/],
    ['a body that is longer', [tensor], 16, /expected 8 bytes, got 16/],
    ['data that does not fit the shape', [{ ...tensor, bytes: 4 }], 8, /expected 8 bytes/],
  ])('%s', (_, tensors, bodyBytes, message) => {
    const [frame] = framesIn([withHeader({ tensors }, Buffer.alloc(bodyBytes))]);
    expect(() => tensorsOf(frame as Frame)).toThrow(message);
  });
});
