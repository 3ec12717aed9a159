import { describe, expect, test } from 'vitest';
import { Place } from '../src/files/place.js';
import { arrivalsAt, LONGEST_TRACE, rateOf, type Traffic, validTraffic } from '../src/plan/plan-traffic.js';
import { randomStream } from '../src/simulation/random.js';

const place = new Place('INVALID_PLAN', 'test');

function firstTimes(traffic: Traffic, perSecond: number, count: number): number[] {
  const next = arrivalsAt(traffic, perSecond).times(randomStream(1, 'arrivals'));
  return Array.from({ length: count }, next);
}

describe('a trace', () => {
  const traffic: Traffic = { kind: 'trace', timesMs: [1000, 1001, 1003, 1010] };

  test('has the mean rate of its gaps', () => {
    expect(rateOf(traffic)).toBe(300);
  });

  test('begins at 0, and ends', () => {
    expect(firstTimes(traffic, 300, 5)).toEqual([0, 1, 3, 10, Number.POSITIVE_INFINITY]);
  });

  test('keeps its shape at another rate', () => {
    expect(firstTimes(traffic, 600, 4)).toEqual([0, 0.5, 1.5, 5]);
    expect(firstTimes(traffic, 30, 4)).toEqual([0, 10, 30, 100]);
  });

  test('that is too long is reduced to its busiest part', () => {
    const quiet = 50_000;
    const timesMs = Array.from({ length: 2 * quiet + LONGEST_TRACE }, (_, i) =>
      i < quiet ? 100 * i : i < quiet + LONGEST_TRACE ? 100 * quiet + (i - quiet) : 100 * i,
    );
    const cut = validTraffic(place, { kind: 'trace', timesMs });
    expect(cut).toEqual({ kind: 'trace', timesMs: timesMs.slice(quiet, quiet + LONGEST_TRACE) });
    expect(rateOf(cut)).toBe(1000);
  });
});

test('rates have common random numbers, so that they can be compared', () => {
  const traffic: Traffic = { kind: 'rate', perSecond: 100 };
  const slow = firstTimes(traffic, 100, 50);
  const quick = firstTimes(traffic, 400, 50);
  quick.forEach((at, i) => {
    expect(4 * at).toBeCloseTo(slow[i] as number, 6);
  });
});
