/** One adaptive policy decides with several curves, and with one that is reset. */
import { adaptive, type Policy, ServiceCurve } from 'batchwise';
import { expect, test } from 'vitest';
import { type Past, shownView, withHistory } from './support/shown-view.js';

const past: Past = {
  gapsMs: [0.1],
  together: [1],
  cost: 1,
  sizes: Array.from({ length: 64 }, (_, i) => 1 + ((i * 7) % 64)),
  batches: 400,
  durationMs: (paddedCost) => 2 + 0.3 * paddedCost,
};
const before = [8, 16, 32, 64];
const after = [24, 48, 64];

/** The sizes of the batches for queues of several lengths, after a history with these padded sizes. */
function sizesAfter(policy: Policy, batchSizes: readonly number[], curve = new ServiceCurve([], batchSizes)) {
  const { traffic, now } = withHistory(policy, past, { batchSizes }, curve);
  return [17, 20, 25, 26, 28, 33, 36, 40, 49, 52, 56].map((length) => {
    const waiting = Array.from({ length }, () => ({ arrivedAt: now }));
    const decision = policy.decide(shownView({ waiting, curve, traffic, batchSizes }), now);
    return decision.action === 'dispatch' ? decision.count : decision;
  });
}

// Root cause: one planner for all curves, which looks at a curve again when it has more samples than the curve before.
test('a policy plans for each curve as if it were the only one', () => {
  const policy = adaptive();
  const expected = sizesAfter(adaptive(), after);
  expect(sizesAfter(policy, before)).not.toEqual(expected);
  expect(sizesAfter(policy, after)).toEqual(expected);
});

// Root cause: a curve that is reset has fewer samples than the planner waited for, so the old plan was used for long.
test('a policy plans anew when other padded sizes have reset the curve', () => {
  const policy = adaptive();
  const curve = new ServiceCurve([], before);
  for (let i = 0; i < 3; i++) sizesAfter(policy, before, curve);
  curve.padTo(after);
  expect(sizesAfter(policy, after, curve)).toEqual(sizesAfter(adaptive(), after));
});
