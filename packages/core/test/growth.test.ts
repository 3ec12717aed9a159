/** How far batches grow beyond what was seen, when there is no time to spare. */
import { ServiceCurve } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { boldlyMs, leapTo } from '../src/policy/growth.js';

function seen(...points: [cost: number, durationMs: number][]): ServiceCurve {
  const curve = new ServiceCurve();
  for (const [cost, durationMs] of points) curve.record(cost, durationMs, 0);
  return curve;
}

describe('a batch far larger than any before', () => {
  test('is no leap up to twice as large', () => {
    expect(leapTo(seen([8, 10]), 16)).toBeUndefined();
  });

  test('is twice as large as long as only one size is known', () => {
    expect(leapTo(seen([1, 11]), 200)).toEqual({ cost: 2, inProportionMs: 2200 });
  });

  test('is several times as large where size hardly matters', () => {
    expect(leapTo(seen([1, 11], [16, 11.2]), 200)?.cost).toBe(128);
  });

  test('is twice as large where size matters', () => {
    expect(leapTo(seen([1, 2], [8, 9]), 200)?.cost).toBe(16);
  });

  test('is no larger than was wanted', () => {
    expect(leapTo(seen([1, 11], [16, 11.2]), 40)?.cost).toBe(40);
  });

  test('is expected to take no less than on a line, and no more than in proportion', () => {
    const curve = seen([1, 2], [8, 9]);
    for (const cost of [17, 40, 500]) {
      expect(boldlyMs(curve, cost)).toBeGreaterThanOrEqual(9 + (cost - 8));
      expect(boldlyMs(curve, cost)).toBeLessThanOrEqual((9 * cost) / 8);
    }
  });
});
