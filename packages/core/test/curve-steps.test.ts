import { expect, test } from 'vitest';
import { ServiceCurve } from '../src/learning/service-curve.js';
import { quickestSize } from '../src/policy/curve-steps.js';
import { seeded } from './support/random.js';

/** A curve that knows how much durations vary, from full batches, and has seen others once. */
function seenOnce(
  durationMs: (cost: number) => number,
  noise: number,
  sizes: readonly number[],
): ServiceCurve {
  const curve = new ServiceCurve();
  const random = seeded(3);
  const record = (size: number, at: number) =>
    curve.record(size, durationMs(size) * (1 + noise * (2 * random() - 1)), at);
  for (let i = 0; i < 16; i++) record(40, i);
  sizes.forEach((size, i) => {
    record(size, 16 + i);
  });
  return curve;
}

// Each size had to be seen several times, however clear it was. In an overload the small ones are not seen again.
test('one batch is enough for a size that gets far more done', () => {
  const worsePast24 = (cost: number) => 2 + 0.3 * Math.min(cost, 24) + 1.2 * Math.max(0, cost - 24);
  expect(quickestSize(seenOnce(worsePast24, 0.25, [5, 12, 23]), 40)).toBe(23);
});

test('one batch is not enough for a size that was a little quicker', () => {
  const straight = (cost: number) => 0.5 + cost;
  const sizes = Array.from({ length: 35 }, (_, i) => i + 4);
  expect(quickestSize(seenOnce(straight, 0.25, sizes), 40)).toBe(40);
});
