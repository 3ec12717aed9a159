/** The metadata and messages of a batch stream. */
import { frameOf } from '@batchwise/grpc';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinedFrames, sharedMetadata } from '../src/batching/batch-request.js';
import { splitFrames } from './fakes/split-frames.js';

describe('the metadata of a batch', () => {
  it('contains exactly the entries that are equal for all callers', () => {
    const value = fc.constantFrom('1', '2', ['1', '2'], ['2', '1']);
    const headers = fc.dictionary(fc.constantFrom('x-a', 'x-b', 'x-c-bin', 'authorization'), value, {
      maxKeys: 4,
      noNullPrototype: true,
    });
    const property = fc.property(fc.array(headers, { minLength: 1, maxLength: 5 }), (all) => {
      const shared = sharedMetadata(all.map((one) => ({ headers: one })));
      const keys = new Set(all.flatMap((one) => Object.keys(one)));
      for (const key of keys) {
        const values = new Set(all.map((one) => JSON.stringify(one[key])));
        if (values.size === 1) expect(shared[key]).toEqual(all[0]?.[key]);
        else expect(shared).not.toHaveProperty(key);
      }
      expect(Object.keys(shared).every((key) => keys.has(key))).toBe(true);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('does not contain protocol headers', () => {
    const headers = { ':path': '/a/b', 'grpc-timeout': '1S', 'user-agent': 'x', te: 'trailers', 'x-a': '1' };
    expect(sharedMetadata([{ headers }, { headers: { ...headers } }])).toEqual({ 'x-a': '1' });
  });

  it('does not modify the headers of the callers', () => {
    const first = { 'x-a': '1', 'x-b': '1' };
    sharedMetadata([{ headers: first }, { headers: { 'x-a': '2' } }]);
    expect(first).toEqual({ 'x-a': '1', 'x-b': '1' });
  });
});

it('joined messages of any length are split into the original messages', () => {
  const length = fc.oneof(fc.nat(50), fc.integer({ min: 10_000, max: 40_000 }));
  const property = fc.property(fc.array(length, { minLength: 1, maxLength: 30 }), (lengths) => {
    const items = lengths.map((bytes, i) => ({ frame: frameOf(Buffer.alloc(bytes, i)) }));
    const written: Buffer[] = [];
    for (let from = 0; from < items.length; ) {
      const { bytes, next } = joinedFrames(items, from);
      expect(next).toBeGreaterThan(from);
      if (next > from + 1) expect(bytes.length).toBeLessThanOrEqual(32 * 1024);
      else expect(bytes === items[from]?.frame).toBe(true);
      written.push(bytes);
      from = next;
    }
    const frames = splitFrames(Buffer.concat(written));
    expect(frames).toHaveLength(items.length);
    expect(frames.every((frame, i) => items[i]?.frame.equals(frame))).toBe(true);
  });
  fc.assert(property);
});
