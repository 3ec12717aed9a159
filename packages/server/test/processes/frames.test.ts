import { PassThrough } from 'node:stream';
import { serialize } from 'node:v8';
import { VirtualClock } from 'batchwise';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { FrameReader } from '../../src/processes/frame-reader.js';
import { FrameWriter, type FrameWriterOptions } from '../../src/processes/frame-writer.js';
import { frameOf } from './support/frame-of.js';

function written(options: Partial<FrameWriterOptions> = {}) {
  const stream = new PassThrough({ highWaterMark: 1 });
  const clock = new VirtualClock();
  const unsendable: [unknown, string][] = [];
  const writer = new FrameWriter(stream, {
    clock,
    onUnsendable: (message, error) => unsendable.push([message, error.message]),
    ...options,
  });
  /** All bytes so far. */
  const bytes = (): Buffer => {
    const chunks: Buffer[] = [];
    for (let chunk = stream.read(); chunk !== null; chunk = stream.read()) chunks.push(chunk);
    return Buffer.concat(chunks);
  };
  return { stream, clock, writer, unsendable, bytes };
}

function framesIn(...chunks: Buffer[]): unknown[][] {
  const reader = new FrameReader();
  const frames: unknown[][] = [];
  for (const chunk of chunks) reader.push(chunk, (messages) => frames.push([...messages]));
  reader.end();
  return frames;
}

describe('a writer', () => {
  test('puts all messages of a turn into one frame', async () => {
    const { writer, clock, bytes } = written();
    writer.send('a');
    await Promise.resolve();
    writer.send(['b', 1]);
    expect(bytes().length).toBe(0);
    await clock.settle();
    writer.send('next turn');
    await clock.settle();
    expect(framesIn(bytes())).toEqual([['a', ['b', 1]], ['next turn']]);
  });

  test('sends of a view into a large buffer only what it shows', async () => {
    const { writer, clock, bytes } = written();
    const view = new Float32Array(new ArrayBuffer(1_000_000), 40, 3).fill(1.5);
    writer.send(view);
    await clock.settle();
    const sent = bytes();
    expect(sent.length).toBeLessThan(100);
    expect(framesIn(sent)).toEqual([[new Float32Array([1.5, 1.5, 1.5])]]);
  });

  test('keeps arrays of every kind as they are, also the same one twice', async () => {
    const { writer, clock, bytes } = written();
    const twice = new Int16Array([1, -2, 3]);
    const arrays = [
      new Uint8Array([1]),
      new Float64Array([0.1, Number.NaN]),
      new BigInt64Array([-1n]),
      new BigUint64Array([2n ** 64n - 1n]),
      new Uint8Array(0),
      new Int8Array([-1]),
      new Uint8ClampedArray([255]),
      new Uint16Array([65_535]),
      new Int32Array([-5]),
      new Uint32Array([2 ** 32 - 1]),
      new DataView(Uint8Array.of(1, 2, 3).buffer, 1),
      Buffer.from('bytes'),
      twice,
      { twice, nested: new Map([['x', new Float32Array([1.5])]]) },
    ];
    for (const array of arrays) writer.send(array);
    await clock.settle();
    expect(framesIn(bytes())).toEqual([arrays]);
  });

  test('sends the neighbours of what cannot be sent, in order', async () => {
    const { writer, clock, bytes, unsendable } = written();
    const odd = () => 1;
    for (const message of ['a', 'b', odd, 'c', 'd']) writer.send(message);
    await clock.settle();
    expect(framesIn(bytes()).flat()).toEqual(['a', 'b', 'c', 'd']);
    expect(unsendable).toEqual([[odd, expect.stringContaining('could not be cloned')]]);
  });

  test('cuts what is too large for one frame into several, and refuses what is too large alone', async () => {
    const { writer, clock, bytes, unsendable } = written({ maxFrameBytes: 1000 });
    const messages = Array.from({ length: 10 }, (_, index) => `${index}`.repeat(300));
    for (const message of messages) writer.send(message);
    const large = 'x'.repeat(2000);
    writer.send(large);
    await clock.settle();
    const frames = framesIn(bytes());
    expect(frames.flat()).toEqual(messages);
    expect(frames.length).toBeGreaterThan(1);
    expect(unsendable).toEqual([
      [large, expect.stringMatching(/^it takes 20\d\d bytes, and a frame may have 1000\.$/)],
    ]);
  });

  test('is congested while more than its limit waits to be read', async () => {
    const { writer, clock, stream, bytes } = written({ maxBacklogBytes: 1000 });
    writer.send('x'.repeat(5000));
    writer.send('y');
    await clock.settle();
    stream.write(Buffer.alloc(5000));
    expect(writer.isCongested).toBe(true);
    while (bytes().length > 0);
    expect(writer.isCongested).toBe(false);
  });

  test('lets a frame take along what has to be told anyway', async () => {
    const { writer, clock, bytes } = written({ beforeFrame: (messages) => messages.push('load') });
    writer.send('answer');
    await clock.settle();
    expect(framesIn(bytes())).toEqual([['answer', 'load']]);
  });
});

describe('a reader', () => {
  test('reads the same messages however the bytes are cut', async () => {
    const message = fc.oneof(
      fc.string(),
      fc.double(),
      fc.uint8Array(),
      fc.float32Array({ maxLength: 20 }),
      fc.dictionary(fc.string(), fc.integer()),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(message, { minLength: 1, maxLength: 5 }), { maxLength: 6 }),
        fc.array(fc.nat(400)),
        async (frames, cuts) => {
          const { writer, clock, bytes } = written();
          for (const messages of frames) {
            for (const each of messages) writer.send(each);
            await clock.settle();
          }
          const all = bytes();
          const places = [...cuts, all.length].sort((a, b) => a - b);
          const chunks = places.map((place, index) => all.subarray(places[index - 1] ?? 0, place));
          expect(framesIn(...chunks)).toEqual(frames);
        },
      ),
      { numRuns: 50 },
    );
  });

  test.each([
    [
      'a length that is too large',
      Buffer.from([255, 255, 255, 255]),
      /1 to 268435456 bytes, got one of 4294967295/,
    ],
    ['an empty frame', Buffer.alloc(4), /got one of 0/],
    [
      'a frame that is no value',
      frameOf(Buffer.from('GET / HTTP/1.1')),
      /a frame of 14 bytes cannot be read/,
    ],
    ['a value that was cut off', frameOf(serialize(['x'.repeat(50)]).subarray(0, 20)), /cannot be read/],
    [
      'an array that was cut off',
      frameOf(serialize([new Float32Array(9)]).subarray(0, -1)),
      /cannot be read/,
    ],
    [
      'a value that is no array',
      frameOf(serialize({ length: 1 })),
      /expected an array of messages in a frame, got object/,
    ],
    ['an end within a frame', frameOf(Buffer.alloc(9)).subarray(0, 10), /after 6 of 9 bytes/],
    ['an end within a length', Buffer.from([1, 0]), /within the length/],
  ])('throws on %s', (_, bytes, message) => {
    expect(() => framesIn(bytes)).toThrow(message);
  });
});
