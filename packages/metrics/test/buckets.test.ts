import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DURATION_BOUNDS, sizeBounds, validBounds } from '../src/buckets.js';
import { curveBySize } from '../src/curve-by-size.js';

test.each([
  [1, [1]],
  [2, [1, 2]],
  [6, [1, 2, 4, 6]],
  [64, [1, 2, 4, 8, 16, 32, 64]],
  [0, [1]],
])('batches of at most %d have the bounds %j', (maxBatchSize, bounds) => {
  expect(sizeBounds(maxBatchSize)).toEqual(bounds);
});

test('there are few buckets, whatever the maximum batch size', () => {
  fc.assert(
    fc.property(fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 1 })), (max) => {
      const bounds = sizeBounds(max);
      expect(bounds.length).toBeLessThan(30);
      validBounds('sizes', bounds);
    }),
  );
  validBounds('durations', DURATION_BOUNDS);
});

test('a bucket has the duration of its largest known batch', () => {
  const curve = [
    { cost: 0.5, durationMs: 1 },
    { cost: 3, durationMs: 3 },
    { cost: 4, durationMs: 4 },
    { cost: 9, durationMs: 9 },
    { cost: 100, durationMs: 100 },
  ];
  expect(curveBySize(curve, [1, 2, 4, 8, 10])).toEqual([1, undefined, 4, undefined, 9]);
  expect(curveBySize([], [1, 2])).toEqual([undefined, undefined]);
});
