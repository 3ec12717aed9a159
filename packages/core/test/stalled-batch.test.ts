/**
 * Root cause: the thread was blocked during the first batches, so their durations were hundreds of times too long. With
 * the variation learned from them, the upper bound of each duration exceeded the target, and nearly all items were
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
