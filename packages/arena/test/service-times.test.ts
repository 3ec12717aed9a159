import { closedLoop, formulaCurve, measure, recorded, type Scenario, simulate } from '@batchwise/arena';
import { greedy } from 'batchwise';
import { describe, expect, test } from 'vitest';
import { ServiceTimes } from '../src/simulation/service-times.js';

const scenario: Scenario = {
  name: 'faulty',
  curve: formulaCurve('10 + b', 10, (b) => 10 + b),
  slots: 2,
  arrivals: recorded(
    'every 20 ms',
    Array.from({ length: 10 }, (_, i) => 20 * i),
  ),
  items: 10,
  targetLatencyMs: Number.POSITIVE_INFINITY,
  noise: 0,
  timerMs: 0,
  seed: 1,
};

function durations(fields: Partial<Scenario>, starts: readonly number[]): number[] {
  const service = new ServiceTimes({ ...scenario, ...fields });
  return starts.map((at) => service.next(1, at).durationMs);
}

function meanOf(tail: NonNullable<Scenario['tail']>): number {
  const all = durations({ tail }, new Array(200_000).fill(0));
  return all.reduce((sum, ms) => sum + ms, 0) / all.length;
}

describe('a heavy tail', () => {
  test.each<NonNullable<Scenario['tail']>>([
    { kind: 'pareto', alpha: 3 },
    { kind: 'outliers', share: 0.05, factor: 5 },
  ])('keeps the mean: $kind', (tail) => {
    expect(meanOf(tail) / 11).toBeCloseTo(1, 1);
  });

  test('of outliers has durations of two lengths', () => {
    const all = durations({ tail: { kind: 'outliers', share: 0.05, factor: 5 } }, new Array(1000).fill(0));
    const lengths = [...new Set(all)].sort((a, b) => a - b) as [number, number];
    expect(lengths).toHaveLength(2);
    expect(lengths[1] / lengths[0]).toBeCloseTo(5);
    expect(all.filter((ms) => ms === lengths[1]).length / 1000).toBeCloseTo(0.05, 1);
  });
});

test('a stall delays running and starting batches by its remaining time', () => {
  const stalls = [{ atMs: 100, ms: 50 }];
  expect(durations({ stalls }, [80, 95, 100, 140, 150])).toEqual([11, 61, 61, 21, 11]);
});

test('a drift reaches its factor gradually', () => {
  const slowdown = { atMs: 100, factor: 4, overMs: 100 };
  expect(durations({ slowdown }, [99, 100, 150, 200, 500])).toEqual([11, 11, 22, 44, 44]);
});

test('a hung batch occupies its slot, and its items get no response', async () => {
  const contender = { name: 'greedy', policy: () => greedy(), knowsTarget: false };
  const run = await simulate({ ...scenario, hang: { atMs: 30, ms: 1000 } }, contender);
  expect(
    run.batches
      .map(({ durationMs }) => durationMs)
      .sort((a, b) => b - a)
      .slice(0, 2),
  ).toEqual([1000, 11]);
  expect([...run.latencyMs].map(Number.isNaN).flatMap((hung, i) => (hung ? [i] : []))).toEqual([2]);
  expect(measure(run).meanMs).toBeCloseTo(11);
});

test('no item arrives after the end', async () => {
  const contender = { name: 'greedy', policy: () => greedy(), knowsTarget: false };
  expect((await simulate({ ...scenario, untilMs: 100 }, contender)).latencyMs).toHaveLength(6);
  const loop = { ...scenario, arrivals: closedLoop(1, 9, 'constant'), items: 1000, untilMs: 100 };
  expect((await simulate(loop, contender)).latencyMs).toHaveLength(5);
});

test('the curve option of the batcher may be wrong', async () => {
  const seen: (number | undefined)[] = [];
  await simulate(
    { ...scenario, knownCurve: [{ cost: 1, durationMs: 110 }] },
    {
      name: 'looks',
      policy: () => ({
        name: 'looks',
        decide: ({ curve, length }) => {
          seen.push(curve.mean(1));
          return { action: 'dispatch', count: length, reason: 'idle' };
        },
      }),
      knowsTarget: false,
    },
  );
  expect(seen[0]).toBe(110);
});
