/** Clipper: a cap on the batch size with additive increase and multiplicative decrease. */

import { peer, simulate } from '@batchwise/arena';
import type { Policy } from 'batchwise';
import { expect, test } from 'vitest';
import { ended, shownQueue } from '../support/shown-queue.js';
import { traceScenario } from '../support/trace-scenario.js';

const clipper = (targetLatencyMs: number) =>
  peer('clipper').policy(traceScenario([0], () => 1, { targetLatencyMs }));

/** The cap is the number of items dispatched from a queue of a hundred. */
function capOf(policy: Policy): number {
  const view = shownQueue({ arrivedAt: Array.from({ length: 100 }, () => 0), maxBatchSize: 100 });
  const decision = policy.decide(view, 0);
  return decision.action === 'dispatch' ? decision.count : 0;
}

function grownTo(cap: number, targetLatencyMs: number): Policy {
  const policy = clipper(targetLatencyMs);
  for (let size = 1; size < cap; size++) policy.observeBatch?.(ended(size, 1), 0);
  return policy;
}

test('the cap begins at 1 and grows by 1 with each batch of that size within the target', () => {
  const policy = clipper(10);
  expect(capOf(policy)).toBe(1);
  policy.observeBatch?.(ended(1, 10), 0);
  expect(capOf(policy)).toBe(2);
  policy.observeBatch?.(ended(2, 9), 0);
  expect(capOf(policy)).toBe(3);
});

test('a batch below the cap does not change it', () => {
  const policy = grownTo(3, 10);
  policy.observeBatch?.(ended(2, 1), 0);
  expect(capOf(policy)).toBe(3);
});

test('a batch past the target reduces the cap by a tenth, to 1 at least', () => {
  const policy = grownTo(20, 10);
  policy.observeBatch?.(ended(20, 10.1), 0);
  expect(capOf(policy)).toBe(18);
  for (let i = 0; i < 50; i++) policy.observeBatch?.(ended(1, 11), 0);
  expect(capOf(policy)).toBe(1);
});

test('without a target the cap only grows', () => {
  const policy = grownTo(20, Number.POSITIVE_INFINITY);
  policy.observeBatch?.(ended(20, 1e6), 0);
  expect(capOf(policy)).toBe(21);
});

test('with 1 ms per item, batch durations converge to the target', async () => {
  const times = Array.from({ length: 4000 }, () => 0);
  const run = await simulate(
    traceScenario(times, (size) => size, { targetLatencyMs: 20, maxBatchSize: 64 }),
    peer('clipper'),
  );
  const sizes = run.batches.slice(40, -1).map(({ size }) => size);
  expect(Math.max(...sizes)).toBe(21);
  expect(Math.min(...sizes)).toBeGreaterThanOrEqual(18);
});
