import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backOffMs } from '../../src/connection/back-off.js';

test('doubles from 50 ms to 2 s', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => backOffMs(attempt, () => 1))).toEqual([
    50, 100, 200, 400, 800, 1600, 2000, 2000,
  ]);
});

test('is between 50 ms and 2 s, and spread, however many attempts there were', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, random) => {
        const ms = backOffMs(attempt, () => random);
        expect(ms).toBeGreaterThanOrEqual(50);
        expect(ms).toBeLessThanOrEqual(2_000);
      },
    ),
  );
  expect(backOffMs(10, () => 0)).toBe(1_000);
});
