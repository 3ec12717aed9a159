import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ServiceCurve } from '../src/learning/service-curve.js';
import { normal, seeded } from './support/random.js';

/** A curve that has seen these batches, each so many times. */
function curveOf(batches: Iterable<readonly [cost: number, durationMs: number]>, times = 1): ServiceCurve {
  const curve = new ServiceCurve();
  for (let time = 0; time < times; time++) {
    for (const [cost, durationMs] of batches) curve.record(cost, durationMs, time);
  }
  return curve;
}

const flatThenLinear = (cost: number) => 12 + 0.1 * Math.max(0, cost - 64);

describe('before anything was learned', () => {
  test('a curve says so', () => {
    const curve = new ServiceCurve();
    expect([curve.predict(1), curve.best(64)]).toEqual([undefined, undefined]);
    expect([curve.samples, curve.spread, curve.updatedAt]).toEqual([0, 0, Number.NEGATIVE_INFINITY]);
  });
});

describe('what was seen is what is expected', () => {
  test('of batches of one size: the mean, and no line through it that is not there', () => {
    const curve = curveOf(
      [
        [32, 40],
        [32, 44],
        [32, 36],
      ],
      20,
    );
    for (const cost of [1, 31, 32, 33, 64]) expect(curve.predict(cost)).toBeCloseTo(40, 0);
    expect(curve.samples).toBe(60);
    expect(curve.updatedAt).toBe(19);
  });

  test('of every size up to 16, exactly', () => {
    const sizes = Array.from({ length: 16 }, (_, i) => [i + 1, 3 + (i + 1) ** 2] as const);
    const curve = curveOf(sizes, 3);
    for (const [cost, durationMs] of sizes) expect(curve.predict(cost)).toBeCloseTo(durationMs, 9);
  });

  test('of a real shape, flat and then linear, within 5 % at every size', () => {
    const seen = [1, 8, 32, 64, 96, 128, 192, 256].map((cost) => [cost, flatThenLinear(cost)] as const);
    const curve = curveOf(seen, 4);
    for (let cost = 1; cost <= 256; cost++) {
      const ratio = (curve.predict(cost) as number) / flatThenLinear(cost);
      expect(ratio).toBeGreaterThan(0.95);
      expect(ratio).toBeLessThan(1.05);
    }
  });

  test('of costs that are fractions or very large', () => {
    const curve = curveOf([
      [0.25, 5],
      [1e6, 1000],
    ]);
    expect(curve.predict(0.25)).toBe(5);
    expect(curve.predict(1e6)).toBe(1000);
    expect(curve.predict(5e5)).toBeGreaterThan(5);
  });
});

describe('between and beyond what was seen', () => {
  const curve = curveOf([
    [4, 10],
    [8, 20],
    [16, 60],
  ]);

  test('it is a line from one to the next', () => {
    expect(curve.predict(6)).toBeCloseTo(15, 9);
    expect(curve.predict(12)).toBeCloseTo(40, 9);
  });

  test('below the smallest, as long as the smallest', () => {
    expect([curve.predict(1), curve.predict(4)]).toEqual([10, 10]);
  });

  test('above the largest, by a slope that is sure: more than flat, no more than the mean slope', () => {
    for (const cost of [20, 32]) {
      expect(curve.predict(cost)).toBeGreaterThan(60);
      expect(curve.predict(cost)).toBeLessThan(60 + (cost - 16) * (50 / 12));
    }
  });
});

test('a larger batch is never expected to be quicker, whatever was seen, nor anything outside of what was seen', () => {
  const batch = fc.tuple(fc.integer({ min: 1, max: 512 }), fc.integer({ min: 1, max: 1000 }));
  fc.assert(
    fc.property(fc.array(batch, { minLength: 1, maxLength: 100 }), (batches) => {
      const curve = curveOf(batches);
      const durationsMs = batches.map(([, durationMs]) => durationMs);
      let before = 0;
      for (let cost = 1; cost <= 512; cost += 3) {
        const expected = curve.predict(cost) as number;
        expect(expected).toBeGreaterThanOrEqual(before - 1e-9);
        before = expected;
      }
      const largest = Math.max(...batches.map(([cost]) => cost));
      expect(curve.predict(1)).toBeGreaterThanOrEqual(Math.min(...durationsMs) - 1e-9);
      // A mean of costs stands for a bucket, so its largest cost may lie a little beyond the last point.
      expect(curve.predict(largest / 1.1)).toBeLessThanOrEqual(Math.max(...durationsMs) + 1e-9);
    }),
  );
});

describe('the best size', () => {
  test('is the largest allowed where a batch has a fixed cost', () => {
    const curve = curveOf([
      [1, 11],
      [8, 18],
      [64, 74],
    ]);
    expect(curve.best(64)).toEqual({ cost: 64, durationMs: 74 });
    expect(curve.best(8)).toEqual({ cost: 8, durationMs: 18 });
    expect(curve.best(36)?.cost).toBe(36);
  });

  test('is below the largest where large batches are worse', () => {
    const curve = curveOf([
      [1, 1],
      [8, 4],
      [32, 10],
      [64, 40],
      [128, 120],
    ]);
    expect(curve.best(128)).toEqual({ cost: 32, durationMs: 10 });
    expect(curve.best(31)?.cost).toBe(31);
    expect(curve.best(8)).toEqual({ cost: 8, durationMs: 4 });
  });

  test('changes with what is learned', () => {
    const curve = curveOf([
      [8, 4],
      [32, 10],
    ]);
    expect(curve.best(32)?.cost).toBe(32);
    for (let i = 0; i < 500; i++) curve.record(32, 100, i);
    expect(curve.best(32)?.cost).toBe(8);
  });
});

describe('noise', () => {
  test('is measured: the spread is that of the durations, relative to what was expected', () => {
    const around = (i: number) => 100 * (1 + 0.1 * Math.sin(i * 2.4) * Math.SQRT2);
    const curve = new ServiceCurve();
    for (let i = 0; i < 1000; i++) curve.record(8, around(i), i);
    expect(curve.predict(8)).toBeCloseTo(100, -1);
    expect(curve.spread).toBeGreaterThan(0.08);
    expect(curve.spread).toBeLessThan(0.12);
  });

  test('of one batch, a thousand times as slow, changes next to nothing', () => {
    const curve = curveOf([[8, 20]], 100);
    curve.record(8, 20_000, 100);
    expect(curve.predict(8)).toBeGreaterThan(19.9);
    expect(curve.predict(8)).toBeLessThan(20.5);
    expect(curve.spread).toBeLessThan(0.05);
  });
});

describe('a batch that is far off', () => {
  // Root cause: after three in a row on one side, the whole curve was scaled by the last of them alone.
  test('after two that were a little slow is still one batch, at its size and at the others', () => {
    const curve = curveOf(
      [
        [1, 50],
        [8, 100],
        [64, 300],
      ],
      100,
    );
    for (const durationMs of [112, 112, 20_000]) curve.record(8, durationMs, 100);
    expect(curve.predict(8)).toBeLessThan(150);
    expect(curve.predict(64)).toBeLessThan(450);
  });

  test('after two that were a little quick is still one batch, at its size and at the others', () => {
    const curve = curveOf(
      [
        [1, 50],
        [8, 100],
        [64, 300],
      ],
      100,
    );
    for (const durationMs of [88, 88, 0]) curve.record(8, durationMs, 100);
    expect(curve.predict(8)).toBeGreaterThan(60);
    expect(curve.predict(64)).toBeGreaterThan(200);
  });

  test('one in twenty, does not drag it along', () => {
    const curve = curveOf([[8, 100]], 100);
    for (let i = 0; i < 500; i++) curve.record(8, i % 20 === 0 ? 5000 : 100, 100 + i);
    expect(curve.predict(8)).toBeLessThan(200);
  });
});

describe('a backend that changes', () => {
  test.each([
    [20, 40, 200],
    [40, 20, 200],
    [20, 200, 500],
    [200, 20, 500],
  ])('from %i ms to %i is followed within %i batches', (before, after, batches) => {
    const curve = curveOf([[8, before]], 200);
    for (let i = 0; i < batches; i++) curve.record(8, after, 200 + i);
    const ratio = (curve.predict(8) as number) / after;
    expect(ratio).toBeGreaterThan(0.85);
    expect(ratio).toBeLessThan(1.15);
  });

  // Root cause: outliers are cut relative to what is expected, and of nothing any share is nothing.
  test('from too quick to measure to slow is followed too', () => {
    const curve = curveOf([[8, 0]], 200);
    for (let i = 0; i < 300; i++) curve.record(8, 20, 200 + i);
    expect(curve.predict(8)).toBeGreaterThan(18);
  });

  test('at one size is followed there, and larger batches are expected to take as long at least', () => {
    const curve = curveOf(
      [
        [8, 10],
        [16, 20],
      ],
      50,
    );
    for (let i = 0; i < 300; i++) curve.record(8, 100, i);
    expect(curve.predict(8)).toBeGreaterThan(50);
    expect(curve.predict(16)).toBeGreaterThanOrEqual(curve.predict(8) as number);
  });
});

describe('a backend that pads', () => {
  const SIZES = [1, 4, 16];

  test('takes as long for all that is padded to one size, and they are learned together', () => {
    const curve = new ServiceCurve([], SIZES);
    for (const cost of [2, 3, 4, 3]) curve.record(cost, 40, 0);
    for (const cost of [1, 16]) curve.record(cost, 10 * cost, 0);
    for (const cost of [1.5, 2, 3, 4]) expect(curve.predict(cost)).toBe(40);
    for (const cost of [5, 9, 16]) expect(curve.predict(cost)).toBe(160);
    expect([1, 2, 3, 4, 5].map((cost) => curve.weightOf(cost))).toEqual([1, 4, 4, 4, 1]);
    expect(curve.points().map(({ cost }) => cost)).toEqual(SIZES);
  });

  test('takes what it takes beyond the largest size', () => {
    const curve = new ServiceCurve([], SIZES);
    curve.record(16, 100, 0);
    curve.record(20, 200, 0);
    expect([curve.padded(20), curve.predict(20), curve.predict(18)]).toEqual([20, 200, 150]);
  });

  test('differently from now on is learned anew; in the same way, nothing is forgotten', () => {
    const curve = new ServiceCurve([], SIZES);
    curve.record(3, 40, 5);
    curve.padTo([1, 4, 16]);
    expect(curve.predict(3)).toBe(40);
    curve.padTo([8]);
    expect(curve.predict(3)).toBeUndefined();
    curve.record(3, 70, 6);
    expect(curve.predict(8)).toBe(70);
  });
});

describe('what is known beforehand', () => {
  const known = [
    { cost: 1, durationMs: 10 },
    { cost: 64, durationMs: 73 },
  ];

  test('is expected before anything was seen', () => {
    const curve = new ServiceCurve(known);
    expect([curve.predict(1), curve.predict(33), curve.predict(64)]).toEqual([10, 42, 73]);
    expect([curve.samples, curve.updatedAt]).toEqual([0, Number.NEGATIVE_INFINITY]);
    expect(curve.best(64)).toEqual({ cost: 64, durationMs: 73 });
  });

  test('gives way to what is seen', () => {
    const curve = new ServiceCurve(known);
    for (let i = 0; i < 100; i++) for (const cost of [1, 64]) curve.record(cost, cost === 1 ? 5 : 200, i);
    expect(curve.predict(1)).toBeCloseTo(5, 0);
    expect((curve.predict(64) as number) / 200).toBeGreaterThan(0.9);
  });

  test('is known of the sizes that are padded to', () => {
    const curve = new ServiceCurve([{ cost: 3, durationMs: 30 }], [4, 8]);
    expect([curve.predict(1), curve.predict(4)]).toEqual([30, 30]);
    expect(curve.points().map(({ cost }) => cost)).toEqual([4]);
  });
});

describe('a curve under noise', () => {
  const truth = (cost: number) => 5 + 0.5 * cost;
  const SIZES = [1, 2, 4, 8, 16, 32, 64];

  test.each([
    [0.05, 0.04],
    [0.15, 0.1],
    [0.3, 0.2],
  ])('of %d is learned within %d at every size, and so is the noise', (sigma, within) => {
    for (let seed = 0; seed < 5; seed++) {
      const random = seeded(seed);
      const curve = new ServiceCurve();
      for (let i = 0; i < 700; i++) {
        const cost = SIZES[Math.floor(SIZES.length * random())] as number;
        curve.record(cost, truth(cost) * Math.exp(sigma * normal(random) - sigma ** 2 / 2), i);
      }
      for (const cost of [...SIZES, 3, 12, 48]) {
        expect(Math.abs((curve.predict(cost) as number) / truth(cost) - 1)).toBeLessThan(within);
      }
      expect(curve.spread / sigma).toBeGreaterThan(0.6);
      expect(curve.spread / sigma).toBeLessThan(1.4);
    }
  });

  test('and with one batch in thirty ten times as long is learned all the same', () => {
    const random = seeded(1);
    const curve = new ServiceCurve();
    for (let i = 0; i < 900; i++) {
      const cost = SIZES[i % SIZES.length] as number;
      const noise = Math.exp(0.05 * normal(random));
      curve.record(cost, truth(cost) * (i > 30 && i % 30 === 7 ? 10 : noise), i);
    }
    for (const cost of SIZES) {
      expect((curve.predict(cost) as number) / truth(cost)).toBeGreaterThan(0.9);
      expect((curve.predict(cost) as number) / truth(cost)).toBeLessThan(1.3);
    }
  });
});

test('a largest batch that was slow once, and has not been seen since, does not stay so for ever', () => {
  const curve = new ServiceCurve();
  for (let i = 0; i < 40; i++) for (const cost of [1, 8]) curve.record(cost, 10 + cost, i);
  curve.record(64, 5000, 41);
  expect(curve.predict(64)).toBe(5000);
  for (let i = 0; i < 400; i++) curve.record(8, 18, 42 + i);
  expect(curve.predict(64)).toBeLessThan(500);
});
