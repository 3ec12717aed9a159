import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Hazard } from '../src/policy/hazard.js';
import { exponential, type Random, seeded } from './support/random.js';

/** A hazard that has seen events after these times, one after the other. */
function hazardOf(timesMs: Iterable<number>, unitMs = 10): Hazard {
  const hazard = new Hazard(unitMs);
  for (const afterMs of timesMs) see(hazard, afterMs);
  return hazard;
}

function see(hazard: Hazard, afterMs: number): void {
  hazard.passed(0, afterMs, 1);
  hazard.happened(afterMs, 1);
  hazard.fade();
}

const times = (count: number, timeMs: (i: number) => number) =>
  Array.from({ length: count }, (_, i) => timeMs(i));

test('of what was never seen, nothing is expected', () => {
  const hazard = new Hazard(10);
  for (const horizonMs of [0.1, 1, 10, 1000]) expect(hazard.chanceWithin(0, horizonMs)).toBe(0);
});

describe('what always happens after the same time', () => {
  const hazard = hazardOf(times(200, () => 1));

  test('is likely to happen within a time a little longer', () => {
    expect(hazard.chanceWithin(0, 1.3)).toBeGreaterThan(0.6);
  });

  test('is not expected before', () => {
    expect(hazard.chanceWithin(0, 0.4)).toBeLessThan(0.05);
  });

  test('is not expected any more when it has not happened long after', () => {
    expect(hazard.chanceWithin(8, 8)).toBe(0);
  });

  test('takes as long as that, on average', () => {
    expect(hazard.meanWithin(5)).toBeCloseTo(1, 6);
  });
});

describe('what happens at any time alike', () => {
  const RATE = 0.25;
  const sample = (seed: number) => {
    const random: Random = seeded(seed);
    return hazardOf(times(1000, () => exponential(random, 1 / RATE)));
  };

  test('is hardly ever thought more likely than it is: what is said is a lower bound', () => {
    let over = 0;
    let asked = 0;
    for (let seed = 0; seed < 100; seed++) {
      const hazard = sample(seed);
      for (const [sinceMs, horizonMs] of [
        [0, 1.25],
        [0, 5],
        [2, 3],
        [5, 10],
      ] as const) {
        asked += 1;
        if (hazard.chanceWithin(sinceMs, horizonMs) > 1.15 * (1 - Math.exp(-RATE * horizonMs))) over += 1;
      }
    }
    expect(over / asked).toBeLessThan(0.1);
  });

  test('is thought likely all the same, for a horizon that is long', () => {
    for (let seed = 0; seed < 20; seed++) {
      expect(sample(seed).chanceWithin(0, 10)).toBeGreaterThan(0.5 * (1 - Math.exp(-RATE * 10)));
    }
  });
});

test('what happens no longer is forgotten', () => {
  const hazard = hazardOf(times(300, () => 1));
  const before = hazard.chanceWithin(0, 2);
  for (let i = 0; i < 2000; i++) see(hazard, 18);
  expect(hazard.chanceWithin(0, 2)).toBeLessThan(0.05 * before);
  expect(hazard.chanceWithin(0, 25)).toBeGreaterThan(0.5);
});

test('what could have happened to many and did to few is less likely for each', () => {
  const [all, few] = [new Hazard(10), new Hazard(10)];
  for (let i = 0; i < 100; i++) {
    for (const hazard of [all, few]) hazard.passed(0, 2, 8);
    all.happened(1, 8);
    few.happened(1, 1);
  }
  expect(few.chanceWithin(0, 2)).toBeLessThan(0.4 * all.chanceWithin(0, 2));
});

test('the horizons lie between the shortest and the longest that are asked for, rising', () => {
  const questions = fc.record({
    unitMs: fc.constantFrom(0.1, 10, 5000),
    sinceMs: fc.double({ min: 0, max: 1000, noNaN: true }),
    leastMs: fc.double({ min: 0, max: 5, noNaN: true }),
    mostMs: fc.double({ min: 0, max: 1000, noNaN: true }),
  });
  fc.assert(
    fc.property(questions, ({ unitMs, sinceMs, leastMs, mostMs }) => {
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

test('whatever was seen, a chance is one, and grows with the horizon', () => {
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

test('the likeliest horizon is the one of all with the highest chance a millisecond', () => {
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
