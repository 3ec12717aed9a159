/**
 * The thread was held up while the first batches ran, and each seemed to take hundreds of times as long as
 * it does. The spread that was learned of that made a safe guess of any duration longer than any target, so
 * that nearly everybody was refused, and the rest went one by one.
 */
import { ServiceCurve } from 'batchwise';
import { expect, test } from 'vitest';

test('a batch that was held up for long does not make every other uncertain', () => {
  const curve = new ServiceCurve([
    { cost: 1, durationMs: 0.3 },
    { cost: 64, durationMs: 2 },
  ]);
  curve.record(1, 150, 0);
  expect(curve.spread).toBeLessThanOrEqual(1);
  for (let i = 1; i <= 16; i++) curve.record(64, 2, i);
  expect(curve.spread).toBeLessThan(0.5);
});
