import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  FrameReader,
  frameOf,
  type GrpcError,
  isCompressed,
  messageOf,
  PREFIX_BYTES,
  STATUS,
} from '../src/index.js';

function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let i = 0; at < bytes.length; i++) {
    const size = sizes.length === 0 ? bytes.length : (sizes[i % sizes.length] as number);
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

test('any messages, cut anyhow, come out as they went in', () => {
  const message = fc.record({
    size: fc.oneof(fc.nat(20), fc.nat(3_000), fc.nat(70_000)),
    fill: fc.nat(255),
    isCompressed: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.array(message, { maxLength: 6 }),
      fc.array(fc.oneof(fc.integer({ min: 1, max: 7 }), fc.integer({ min: 1, max: 20_000 })), {
        maxLength: 8,
      }),
      (messages, sizes) => {
        const sent = messages.map(({ size, fill, isCompressed }) =>
          frameOf(Buffer.alloc(size, fill), isCompressed),
        );
        const received: Buffer[] = [];
        const reader = new FrameReader(70_000, (frame) => received.push(frame));
        for (const chunk of cut(Buffer.concat(sent), sizes)) reader.push(chunk);
        expect(reader.isBetweenFrames).toBe(true);
        expect(reader.heldBytes).toBe(0);
        expect(received.length).toBe(sent.length);
        for (const [i, frame] of received.entries()) expect(frame.equals(sent[i] as Buffer)).toBe(true);
      },
    ),
  );
});

test('a frame knows its message and its flag', () => {
  const frame = frameOf(Buffer.from('abc'), true);
  expect([...frame]).toEqual([1, 0, 0, 0, 3, 97, 98, 99]);
  expect(messageOf(frame).toString()).toBe('abc');
  expect(messageOf(frame).buffer).toBe(frame.buffer);
  expect(isCompressed(frame)).toBe(true);
  expect(isCompressed(frameOf(Buffer.alloc(0)))).toBe(false);
  expect(frameOf(Buffer.alloc(0)).length).toBe(PREFIX_BYTES);
});

test('a chunk that is one frame is that frame, not a copy of it', () => {
  const received: Buffer[] = [];
  const chunk = frameOf(Buffer.from('abc'));
  new FrameReader(10, (frame) => received.push(frame)).push(chunk);
  expect(received[0]).toBe(chunk);
});

test.each([
  ['in one chunk', [100]],
  ['with its prefix cut', [2]],
])('a message that is too large is refused at its prefix, %s', (_name, sizes) => {
  const reader = new FrameReader(10, () => expect.unreachable());
  const bytes = frameOf(Buffer.alloc(11));
  const push = () => {
    for (const chunk of cut(bytes.subarray(0, 6), sizes)) reader.push(chunk);
  };
  expect(push).toThrow(expect.objectContaining({ status: STATUS.RESOURCE_EXHAUSTED }));
  expect(reader.heldBytes).toBeLessThan(11);
});

test('one beyond all measure is not waited for, whoever hears of it', () => {
  const reader = new FrameReader(
    10,
    () => expect.unreachable(),
    () => expect.unreachable(),
  );
  const prefix = Buffer.alloc(PREFIX_BYTES);
  prefix.writeUInt32BE(64 * 1024 * 1024 + 1, 1);
  expect(() => reader.push(prefix)).toThrow(expect.objectContaining({ status: STATUS.RESOURCE_EXHAUSTED }));
});

test('those that are too large are passed over where somebody hears of them, cut anyhow', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(30), { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 8 }),
      (lengths, sizes) => {
        const came: (number | string)[] = [];
        const reader = new FrameReader(
          15,
          (frame) => came.push(messageOf(frame).length),
          ({ message }) => came.push(message),
        );
        const bytes = Buffer.concat(lengths.map((length) => frameOf(Buffer.alloc(length, 1))));
        for (const chunk of cut(bytes, sizes)) reader.push(chunk);
        expect(came).toEqual(
          lengths.map((length) =>
            length <= 15 ? length : `expected a message of at most 15 bytes, got ${length}`,
          ),
        );
        expect(reader.isBetweenFrames).toBe(true);
        if (bytes.length === 0) return;
        reader.push(bytes.subarray(0, -1));
        expect(reader.isBetweenFrames).toBe(false);
      },
    ),
  );
});

test('a message of exactly the largest size passes', () => {
  const received: Buffer[] = [];
  new FrameReader(10, (frame) => received.push(frame)).push(frameOf(Buffer.alloc(10)));
  expect(received.length).toBe(1);
});

test('a flag that gRPC does not know is INTERNAL', () => {
  const reader = new FrameReader(10, () => expect.unreachable());
  expect(() => reader.push(Buffer.from([2, 0, 0, 0, 0]))).toThrow(
    expect.objectContaining<Partial<GrpcError>>({ status: STATUS.INTERNAL }),
  );
});

test('a reader knows when it is within a frame', () => {
  const reader = new FrameReader(10, () => {});
  const frame = frameOf(Buffer.alloc(3));
  expect(reader.isBetweenFrames).toBe(true);
  reader.push(frame.subarray(0, 1));
  expect(reader.isBetweenFrames).toBe(false);
  reader.push(frame.subarray(1, 6));
  expect(reader.isBetweenFrames).toBe(false);
  reader.push(frame.subarray(6));
  expect(reader.isBetweenFrames).toBe(true);
});

test('a large message that is only announced gets no memory', () => {
  const reader = new FrameReader(2 ** 32, () => {});
  reader.push(Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]));
  expect(reader.heldBytes).toBeLessThan(10_000);
});

test('a message in many tiny pieces holds its bytes, not its pieces', () => {
  const received: Buffer[] = [];
  const reader = new FrameReader(1_000_000, (frame) => received.push(frame));
  const frame = frameOf(Buffer.alloc(100_000, 7));
  for (let i = 0; i < frame.length - 1; i++) reader.push(frame.subarray(i, i + 1));
  expect(reader.heldBytes).toBeLessThanOrEqual(frame.length);
  reader.push(frame.subarray(-1));
  expect(received[0]?.equals(frame)).toBe(true);
});
