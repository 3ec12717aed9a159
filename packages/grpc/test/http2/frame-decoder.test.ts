import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameDecoder } from '../../src/http2/frame-decoder.js';
import { rawFrame } from '../support/raw-http2.js';

interface Seen {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

const frame = fc.record({
  type: fc.nat(255),
  flags: fc.nat(255),
  streamId: fc.nat(2 ** 31 - 1),
  payload: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
});

/** The bytes in pieces of these lengths, over and over. */
function* pieces(bytes: Buffer, lengths: readonly number[]): Generator<Buffer> {
  let at = 0;
  for (let turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] as number;
    yield bytes.subarray(at, at + length);
    at += length;
  }
}

test('frames are the same however their bytes are split', () => {
  fc.assert(
    fc.property(
      fc.array(frame, { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 20 }),
      (frames, lengths) => {
        const seen: Seen[] = [];
        const decoder = new FrameDecoder((type, flags, streamId, payload) => {
          seen.push({ type, flags, streamId, payload });
        });
        const bytes = Buffer.concat(
          frames.map(({ type, flags, streamId, payload }) => rawFrame(type, flags, streamId, payload)),
        );
        for (const piece of pieces(bytes, lengths)) decoder.push(piece);
        expect(seen).toEqual(frames);
      },
    ),
  );
});

test('the bit before the number of a stream says nothing', () => {
  const seen: number[] = [];
  const decoder = new FrameDecoder((_type, _flags, streamId) => seen.push(streamId));
  decoder.push(rawFrame(0, 0, 0x80000003));
  expect(seen).toEqual([3]);
});

test.each([1, 9, 100])('a frame that is too long is refused by its head, in pieces of %d', (length) => {
  const decoder = new FrameDecoder(() => expect.unreachable());
  const head = Buffer.from([0x00, 0x40, 0x01, 0, 0, 0, 0, 0, 1]);
  expect(() => {
    for (const piece of pieces(head, [length])) decoder.push(piece);
    decoder.push(Buffer.alloc(1));
  }).toThrow('got 16385');
});

test('one that is stopped in the middle of a chunk tells of nothing behind', () => {
  const seen: number[] = [];
  const decoder: FrameDecoder = new FrameDecoder((type) => {
    seen.push(type);
    decoder.stop();
  });
  decoder.push(Buffer.concat([rawFrame(1, 0, 0), rawFrame(2, 0, 0)]));
  decoder.push(rawFrame(3, 0, 0));
  expect(seen).toEqual([1]);
});
