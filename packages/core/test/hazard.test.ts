import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Hazard } from '../src/learning/hazard.js';
import { exponential, type Random, seeded } from './support/random.js';

/** A hazard that has recorded events after these times. */
function hazardOf(timesMs: Iterable<number>, unitMs = 10): Hazard {
  const hazard = new Hazard(unitMs);
  for (const afterMs of timesMs) record(hazard, afterMs);
  return hazard;
}

function record(hazard: Hazard, afterMs: number): void {
  hazard.passed(0, afterMs, 1);
  hazard.happened(afterMs, 1);
  hazard.fade();
}

const times = (count: number, timeMs: (i: number) => number) =>
  Array.from({ length: count }, (_, i) => timeMs(i));

test('an event that never happened has no chance', () => {
  const hazard = new Hazard(10);
  for (const horizonMs of [0.1, 1, 10, 1000]) expect(hazard.chanceWithin(0, horizonMs)).toBe(0);
});

describe('an event that always happens after the same time', () => {
  const hazard = hazardOf(times(200, () => 1));

  test('is likely within a little more than that time', () => {
    expect(hazard.chanceWithin(0, 1.3)).toBeGreaterThan(0.6);
  });

  test('is unlikely before', () => {
    expect(hazard.chanceWithin(0, 0.4)).toBeLessThan(0.05);
  });

  test('has no chance long after that time', () => {
    expect(hazard.chanceWithin(8, 8)).toBe(0);
  });

  test('has that mean time', () => {
    expect(hazard.meanWithin(5)).toBeCloseTo(1, 6);
  });
});

describe('an event with a constant rate', () => {
  const RATE = 0.25;
  const sample = (seed: number) => {
    const random: Random = seeded(seed);
    return hazardOf(times(1000, () => exponential(random, 1 / RATE)));
  };

  test('has a lower bound as its chance, which is rarely above the true value', () => {
    let over = 0;
    let estimates = 0;
    for (let seed = 0; seed < 100; seed++) {
      const hazard = sample(seed);
      for (const [sinceMs, horizonMs] of [
        [0, 1.25],
        [0, 5],
        [2, 3],
        [5, 10],
      ] as const) {
        estimates += 1;
        if (hazard.chanceWithin(sinceMs, horizonMs) > 1.15 * (1 - Math.exp(-RATE * horizonMs))) over += 1;
      }
    }
    expect(over / estimates).toBeLessThan(0.1);
  });

  test('is estimated as likely within a long horizon', () => {
    for (let seed = 0; seed < 20; seed++) {
      expect(sample(seed).chanceWithin(0, 10)).toBeGreaterThan(0.5 * (1 - Math.exp(-RATE * 10)));
    }
  });
});

test('an event that no longer happens is forgotten', () => {
  const hazard = hazardOf(times(300, () => 1));
  const before = hazard.chanceWithin(0, 2);
  for (let i = 0; i < 2000; i++) record(hazard, 18);
  expect(hazard.chanceWithin(0, 2)).toBeLessThan(0.05 * before);
  expect(hazard.chanceWithin(0, 25)).toBeGreaterThan(0.5);
});

test('an event of few among many has a lower chance', () => {
  const [all, few] = [new Hazard(10), new Hazard(10)];
  for (let i = 0; i < 100; i++) {
    for (const hazard of [all, few]) hazard.passed(0, 2, 8);
    all.happened(1, 8);
    few.happened(1, 1);
  }
  expect(few.chanceWithin(0, 2)).toBeLessThan(0.4 * all.chanceWithin(0, 2));
});

test('the horizons rise from the given shortest to the given longest', () => {
  const ranges = fc.record({
    unitMs: fc.constantFrom(0.1, 10, 5000),
    sinceMs: fc.double({ min: 0, max: 1000, noNaN: true }),
    leastMs: fc.double({ min: 0, max: 5, noNaN: true }),
    mostMs: fc.double({ min: 0, max: 1000, noNaN: true }),
  });
  fc.assert(
    fc.property(ranges, ({ unitMs, sinceMs, leastMs, mostMs }) => {
      const horizons = [...new Hazard(unitMs).horizons(sinceMs, leastMs, mostMs)];
      expect(horizons).toEqual([...horizons].sort((a, b) => a - b));
      for (const horizonMs of horizons) {
        expect(horizonMs).toBeGreaterThan(0);
        expect(horizonMs).toBeGreaterThanOrEqual(leastMs);
        expect(horizonMs).toBeLessThanOrEqual(mostMs);
      }
    }),
  );
});

test('for any events, a chance is at most 1 and grows with the horizon', () => {
  const seen = fc.array(
    fc.oneof(fc.double({ min: 0, max: 1e4, noNaN: true }), fc.constantFrom(0, 1e-9, 1e9)),
    {
      maxLength: 60,
    },
  );
  fc.assert(
    fc.property(seen, fc.double({ min: 0, max: 100, noNaN: true }), (timesMs, sinceMs) => {
      const hazard = hazardOf(timesMs);
      let before = 0;
      for (const horizonMs of [0, 1e-6, 0.01, 0.5, 1, 7, 80, 1e5]) {
        const chance = hazard.chanceWithin(sinceMs, horizonMs);
        expect(chance).toBeGreaterThanOrEqual(before - 1e-12);
        expect(chance).toBeLessThanOrEqual(1);
        before = chance;
        if (horizonMs > 0) {
          expect(hazard.meanWithin(horizonMs)).toBeGreaterThan(0);
          expect(hazard.meanWithin(horizonMs)).toBeLessThanOrEqual(horizonMs);
        }
      }
    }),
    { numRuns: 200 },
  );
});

test('the likeliest horizon is the one with the highest chance per millisecond', () => {
  const seen = fc.array(fc.double({ min: 0.01, max: 100, noNaN: true }), { maxLength: 60 });
  const ms = fc.double({ min: 0, max: 50, noNaN: true });
  fc.assert(
    fc.property(seen, ms, ms, fc.constantFrom(20, 1000), (timesMs, sinceMs, leastMs, mostMs) => {
      const hazard = hazardOf(timesMs);
      let highest = 0;
      for (const horizonMs of hazard.horizons(sinceMs, leastMs, mostMs)) {
        highest = Math.max(highest, hazard.chanceWithin(sinceMs, horizonMs) / horizonMs);
      }
      const likeliest = hazard.likeliest(sinceMs, leastMs, mostMs);
      expect(likeliest === undefined ? 0 : likeliest.chance / likeliest.horizonMs).toBeCloseTo(highest, 12);
    }),
  );
});
