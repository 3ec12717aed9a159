/** Messages that are written together come apart again as they were. */
import { frameOf } from '@batchwise/grpc';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { joinedFrames } from '../src/joined-frames.js';
import { splitFrames } from './fakes/split-frames.js';

it('whatever their lengths', () => {
  const length = fc.oneof(fc.nat(50), fc.integer({ min: 10_000, max: 40_000 }));
  const property = fc.property(fc.array(length, { minLength: 1, maxLength: 30 }), (lengths) => {
    const items = lengths.map((bytes, i) => ({ frame: frameOf(Buffer.alloc(bytes, i)) }));
    const written: Buffer[] = [];
    for (let at = 0; at < items.length; ) {
      const { bytes, next } = joinedFrames(items, at);
      expect(next).toBeGreaterThan(at);
      if (next > at + 1) expect(bytes.length).toBeLessThanOrEqual(32 * 1024);
      else expect(bytes === items[at]?.frame).toBe(true);
      written.push(bytes);
      at = next;
    }
    const frames = splitFrames(Buffer.concat(written));
    expect(frames).toHaveLength(items.length);
    expect(frames.every((frame, i) => items[i]?.frame.equals(frame))).toBe(true);
  });
  fc.assert(property);
});
