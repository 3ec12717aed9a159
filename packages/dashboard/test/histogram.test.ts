import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EMPTY, type Histogram, quantile, since, together } from '../src/page/histogram.js';

const BOUNDS = [1, 2, 4, Number.POSITIVE_INFINITY];

function histogram(...counts: number[]): Histogram {
  return { bounds: BOUNDS, counts, count: counts.reduce((sum, count) => sum + count, 0), sum: 10 };
}

test('a quantile lies within its bucket, in proportion', () => {
  expect(quantile(histogram(0, 4, 0, 0), 0.5)).toBe(1.5);
  expect(quantile(histogram(4, 0, 0, 0), 0.25)).toBe(0.25);
  expect(quantile(histogram(1, 0, 1, 0), 1)).toBe(4);
});

test('at the end of a bucket it is the end of that one', () => {
  expect(quantile(histogram(1, 0, 1, 0), 0.5)).toBe(1);
  expect(quantile(histogram(4, 0, 0, 0), 1)).toBe(1);
});

test('of the last bucket, which has no end, it is the beginning', () => {
  expect(quantile(histogram(0, 0, 0, 5), 0.5)).toBe(4);
});

test('of nothing there is none', () => {
  expect(quantile(EMPTY, 0.5)).toBeUndefined();
  expect(quantile(histogram(0, 0, 0, 0), 0.5)).toBeUndefined();
});

test('larger shares have no smaller quantiles, and none is beyond the bounds', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(20), { minLength: 4, maxLength: 4 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (counts, a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const lower = quantile(histogram(...counts), low) ?? 0;
        const higher = quantile(histogram(...counts), high) ?? 0;
        expect(lower).toBeLessThanOrEqual(higher + 1e-9);
        expect(higher).toBeLessThanOrEqual(4);
      },
    ),
  );
});

test('what has come since is the difference', () => {
  expect(since(histogram(1, 1, 0, 0), histogram(1, 3, 1, 0))).toMatchObject({
    counts: [0, 2, 1, 0],
    count: 3,
    sum: 0,
  });
});

test('after a new start all has come since', () => {
  const after = histogram(1, 0, 0, 0);
  expect(since(histogram(5, 5, 0, 0), after)).toBe(after);
  expect(since(EMPTY, after)).toBe(after);
});

test('several are one', () => {
  expect(together([histogram(1, 0, 0, 2), EMPTY, histogram(0, 1, 0, 1)])).toMatchObject({
    counts: [1, 1, 0, 3],
    count: 5,
    sum: 20,
  });
  expect(together([])).toEqual(EMPTY);
});
