import { describe, expect, test } from 'vitest';
import { arrivalTimes } from '../src/run/arrival-times.js';
import type { ArrivalSchedule } from '../src/run/traffic.js';

function times(schedule: ArrivalSchedule, untilMs: number, seed = 1): number[] {
  const next = arrivalTimes(schedule, seed);
  const found: number[] = [];
  for (let at = next(); at < untilMs; at = next()) found.push(at);
  return found;
}

function gapsOf(found: readonly number[]): { readonly mean: number; readonly variation: number } {
  const gaps = found.slice(1).map((at, i) => at - (found[i] as number));
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
  return { mean, variation: Math.sqrt(variance) / mean };
}

const between = (found: readonly number[], from: number, to: number) =>
  found.filter((at) => at >= from * 1000 && at < to * 1000).length;

describe('arrivalTimes', () => {
  test('constant arrivals have equal gaps that do not drift', () => {
    const found = times({ kind: 'constant', perSecond: 300 }, 3_600_000);
    expect(found).toHaveLength(3600 * 300);
    expect(found[0]).toBe(0);
    expect(found.at(-1)).toBeCloseTo(3_600_000 - 1000 / 300, 6);
  });

  test.each([
    [{ kind: 'poisson', perSecond: 500 } as const, 1],
    [{ kind: 'gamma', perSecond: 500, variation: 1 } as const, 1],
    [{ kind: 'gamma', perSecond: 500, variation: 3 } as const, 3],
    [{ kind: 'gamma', perSecond: 500, variation: 0.3 } as const, 0.3],
  ])('%o has its mean rate and a coefficient of variation of %d', (schedule, variation) => {
    const found = times(schedule, 400_000);
    const gaps = gapsOf(found);
    expect(Math.abs(found.length / 400 / 500 - 1)).toBeLessThan(0.03);
    expect(Math.abs(gaps.variation / variation - 1)).toBeLessThan(0.05);
  });

  test('steps have their rates one after the other, and the last one stays', () => {
    const steps = [
      { perSecond: 1000, seconds: 10 },
      { perSecond: 0, seconds: 5 },
      { perSecond: 4000, seconds: 1 },
    ];
    const found = times({ kind: 'steps', steps }, 30_000);
    expect(between(found, 0, 10) / 10_000).toBeCloseTo(1, 1);
    expect(between(found, 10, 15)).toBe(0);
    expect(between(found, 15, 16) / 4000).toBeCloseTo(1, 1);
    expect(between(found, 16, 30) / (14 * 4000)).toBeCloseTo(1, 1);
  });

  test('steps of one rate are Poisson arrivals, however short they are', () => {
    const steps = Array.from({ length: 3000 }, () => ({ perSecond: 200, seconds: 0.001 }));
    const whole = times({ kind: 'poisson', perSecond: 200 }, 5000);
    const found = times({ kind: 'steps', steps }, 5000);
    expect(found).toHaveLength(whole.length);
    for (const [i, at] of found.entries()) expect(at).toBeCloseTo(whole[i] as number, 6);
  });

  test.each([
    [0, 2000],
    [2000, 500],
  ])('a ramp from %d/s to %d/s changes evenly, and stays at its end', (from, to) => {
    const found = times({ kind: 'ramp', from, to, seconds: 20 }, 40_000);
    for (let second = 0; second < 20; second += 4) {
      const expected = 4 * (from + ((to - from) * (second + 2)) / 20);
      expect(Math.abs(between(found, second, second + 4) - expected)).toBeLessThan(5 * Math.sqrt(expected));
    }
    expect(Math.abs(between(found, 20, 40) - 20 * to)).toBeLessThan(5 * Math.sqrt(20 * to));
    expect(found).toEqual([...found].sort((a, b) => a - b));
  });

  test('a ramp that ends at no arrivals has an end', () => {
    const next = arrivalTimes({ kind: 'ramp', from: 100, to: 0, seconds: 2 }, 1);
    let count = 0;
    while (next() < Number.POSITIVE_INFINITY) count++;
    expect(Math.abs(count - 100)).toBeLessThan(50);
    expect(next()).toBe(Number.POSITIVE_INFINITY);
  });

  test('a trace has its times and an end', () => {
    const next = arrivalTimes({ kind: 'trace', name: 'a.csv', timesMs: [1, 2, 2, 7] }, 1);
    expect([next(), next(), next(), next(), next()]).toEqual([1, 2, 2, 7, Number.POSITIVE_INFINITY]);
  });

  test('the same seed gives the same times, another seed others', () => {
    const schedule = { kind: 'gamma', perSecond: 100, variation: 2 } as const;
    expect(times(schedule, 1000, 7)).toEqual(times(schedule, 1000, 7));
    expect(times(schedule, 1000, 7)).not.toEqual(times(schedule, 1000, 8));
  });
});
