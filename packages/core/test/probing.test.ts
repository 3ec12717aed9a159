/** Probes: batches of sizes that are tried to measure their throughput. */
import { adaptive, type Decision, type Limits } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { ServiceCurve } from '../src/learning/service-curve.js';
import { Probing } from '../src/policy/probing.js';
import { lognormal, type Random, seeded } from './support/random.js';
import { type Past, shownView, withHistory } from './support/shown-view.js';

type Duration = (cost: number) => number;

const limitsOf = (maxBatchSize: number, batchSizes: readonly number[] = []): Limits => ({
  ...{ maxBatchSize, batchSizes, timerResolutionMs: 0 },
  targetLatencyMs: Number.POSITIVE_INFINITY,
});

/** Dispatches all queued items, up to a full batch, except where a probe is due; returns the probes in order. */
function probes(
  durationMs: Duration,
  limits: Limits,
  batches: number,
  { noise = 0, queued = (_: Random) => limits.maxBatchSize } = {},
) {
  const random = seeded(1);
  const curve = new ServiceCurve([], limits.batchSizes);
  const probing = new Probing();
  const sizes: number[] = [];
  const positions: number[] = [];
  for (let batch = 0; batch < batches; batch++) {
    const cost = queued(random);
    const candidate = curve.samples === 0 ? 0 : probing.candidate(curve, limits, cost);
    if (candidate > 0) {
      probing.tried(candidate, curve);
      sizes.push(candidate);
      positions.push(batch);
    }
    const size = candidate || cost;
    const takesMs = noise > 0 ? durationMs(size) * lognormal(random, noise) : durationMs(size);
    curve.record(size, takesMs, batch);
  }
  return { curve, sizes, positions };
}

const paddedTo =
  (multiple: number): Duration =>
  (cost) =>
    4 + 0.3 * multiple * Math.ceil(cost / multiple);

describe('a queue that is always long', () => {
  test.each([
    [16, 0.05],
    [16, 0],
    [24, 0],
    [40, 0],
    [50, 0],
    [24, 0.05],
    [40, 0.1],
  ])(
    'has probes that locate the size above which throughput falls: %i, rising by %d ms per item',
    (last, perItemMs) => {
      const worsePast: Duration = (cost) => (cost <= last ? 8 + perItemMs * cost : 60 + cost);
      const { curve } = probes(worsePast, limitsOf(64), 400);
      const best = curve.bestSize(64)?.cost as number;
      expect(best).toBeLessThanOrEqual(last);
      expect(best / worsePast(best)).toBeGreaterThan((0.9 * last) / worsePast(last));
    },
  );

  test('is served in full batches for most of the time, and probes end', () => {
    for (const durationMs of [paddedTo(8), paddedTo(1), () => 10, (cost: number) => 2 + cost]) {
      const { sizes, positions } = probes(durationMs, limitsOf(64), 1000);
      expect(sizes.length).toBeLessThan(0.25 * 300);
      expect(positions.at(-1) ?? 0).toBeLessThan(700);
      // No probe before the curve is roughly known, and none right after another.
      expect(positions[0] ?? 16).toBeGreaterThanOrEqual(16);
      for (let i = 1; i < positions.length; i++) {
        expect((positions[i] as number) - (positions[i - 1] as number)).toBeGreaterThanOrEqual(4);
      }
    }
  });

  test('with varying durations, has at most three probes of each size', () => {
    const { sizes } = probes((cost) => 5 + 0.2 * cost, limitsOf(64), 2000, { noise: 0.2 });
    for (const size of new Set(sizes)) {
      expect(sizes.filter((other) => other === size).length).toBeLessThanOrEqual(3);
    }
  });
});

test('with a queue of varying length, halving locates the steps of a padded backend', () => {
  const padded: Duration = (cost) => 2 + 0.5 * 2 ** Math.ceil(Math.log2(cost));
  const queued = (random: Random) => (random() < 0.5 ? 64 : 20 + Math.floor(45 * random()));
  const { curve } = probes(padded, limitsOf(64), 400, { queued });
  expect(curve.steps(64)).toContain(32);
});

test('on a backend with known padding, only its sizes are tried', () => {
  const { sizes } = probes(paddedTo(8), limitsOf(64, [8, 16, 32, 64]), 300);
  expect(sizes.length).toBeGreaterThan(0);
  expect([8, 16, 32]).toEqual(expect.arrayContaining(sizes));
});

test('a size that is larger than the batch or was measured is not tried', () => {
  const curve = new ServiceCurve();
  for (let i = 0; i < 50; i++) for (const size of [1, 2, 4, 8, 16, 32, 64]) curve.record(size, 10 + size, i);
  expect(new Probing().candidate(curve, limitsOf(64), 64)).toBe(0);
  const other = new ServiceCurve();
  for (let i = 0; i < 50; i++) other.record(20, 30, i);
  expect(new Probing().candidate(other, limitsOf(64), 20)).toBeLessThan(20);
  expect(new Probing().candidate(other, limitsOf(64), 1)).toBe(0);
});

test('a candidate that is not dispatched is not counted as tried', () => {
  const curve = new ServiceCurve();
  for (let i = 0; i < 50; i++) curve.record(64, 30, i);
  const probing = new Probing();
  const first = probing.candidate(curve, limitsOf(64), 64);
  expect(first).toBeGreaterThan(0);
  for (let i = 0; i < 100; i++) expect(probing.candidate(curve, limitsOf(64), 64)).toBe(first);
  for (let i = 0; i < 3; i++) {
    probing.tried(first, curve);
    for (let batch = 0; batch < 4; batch++) curve.record(64, 30, 50 + i);
  }
  expect(probing.candidate(curve, limitsOf(64), 64)).not.toBe(first);
});

describe('the adaptive policy', () => {
  const past: Past = {
    gapsMs: [1],
    together: [1],
    cost: 1,
    sizes: [13],
    batches: 20,
    durationMs: () => 55,
  };
  const waiting = (now: number, leftMs: number) =>
    Array.from({ length: 13 }, () => ({ arrivedAt: now, deadline: now + leftMs }));
  /** Whether the policy would measure batches of 8 now, the largest power of two below 13. */
  const isProbe = (decision: Decision) => decision.action === 'dispatch' && decision.count === 8;

  test('tries a size that was not measured', () => {
    const { policy, curve, traffic, now } = withHistory(adaptive(), { ...past, batches: 16 });
    expect(isProbe(policy.decide(shownView({ waiting: waiting(now, 10_000), curve, traffic }), now))).toBe(
      true,
    );
  });

  // Root cause: a size was tried without a check of the remaining items: 55 ms and 55 ms are more than 100.
  test('tries no size if an item would miss its deadline, and does not count that as a try', () => {
    const { policy, curve, traffic, now } = withHistory(adaptive(), { ...past, batches: 16 });
    for (let i = 0; i < 50; i++) {
      const view = shownView({ waiting: waiting(now, 100), curve, traffic });
      expect(isProbe(policy.decide(view, now))).toBe(false);
    }
    const view = shownView({ waiting: waiting(now, 10_000), curve, traffic });
    expect(isProbe(policy.decide(view, now))).toBe(true);
  });

  test('tries no size with groups', () => {
    const { policy, curve, now } = withHistory(adaptive(), { ...past, batches: 16 });
    const view = shownView({ waiting: waiting(now, 10_000), curve, isGrouped: true });
    expect(isProbe(policy.decide(view, now))).toBe(false);
  });
});
