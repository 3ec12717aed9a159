/**
 * Root cause: the thread was blocked while the first batches ran, and each seemed to take hundreds of times as long. With
 * the variation learned of that, the upper bound of any duration exceeded any target, so that nearly all items were
 * rejected.
 */
import { ServiceCurve } from 'batchwise';
import { expect, test } from 'vitest';

test('one stalled batch among the first does not raise the variation for long', () => {
  const curve = new ServiceCurve([
    { cost: 1, durationMs: 0.3 },
    { cost: 64, durationMs: 2 },
  ]);
  curve.record(1, 150, 0);
  expect(curve.variation).toBeLessThanOrEqual(1);
  for (let i = 1; i <= 16; i++) curve.record(64, 2, i);
  expect(curve.variation).toBeLessThan(0.5);
});
