import { describe, expect, test } from 'vitest';
import { ServiceCurve } from '../src/learning/service-curve.js';
import { curveTable } from '../src/policy/plan/curve-table.js';
import { seeded } from './support/random.js';

type Duration = (cost: number) => number;

const padded: Duration = (cost) => 2 + 0.25 * 2 ** Math.ceil(Math.log2(cost));
const knee: Duration = (cost) => 4 + 0.3 * Math.max(0, cost - 16);
const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

/** A curve that has seen batches of these sizes, each off by up to `noise`. */
function learned(durationMs: Duration, sizes: readonly number[], noise = 0): ServiceCurve {
  const curve = new ServiceCurve();
  const random = seeded(7);
  sizes.forEach((size, i) => {
    curve.record(size, durationMs(size) * (1 + noise * (2 * random() - 1)), i);
  });
  return curve;
}

describe('what was seen', () => {
  test.each([
    ['that pads', padded, [1, 2, 4, 8, 16, 32]],
    ['with a knee', knee, []],
  ])('of a steady backend %s is what it says', (_, durationMs, steps) => {
    const table = curveTable(learned(durationMs, [...upTo(64), ...upTo(64)]), 64, steps);
    for (const size of upTo(64)) expect(table(size)).toBeCloseTo(durationMs(size), 9);
  });

  test('costs that are fractions lie between whole ones', () => {
    const table = curveTable(learned(knee, upTo(64)), 64, []);
    expect(table(40.5)).toBeCloseTo(knee(40.5), 9);
  });

  test('where durations vary, no size is the best because it was lucky', () => {
    const straight: Duration = (cost) => 5 + 0.1 * cost;
    const curve = learned(straight, [...upTo(64), ...upTo(64)], 0.25);
    const table = curveTable(curve, 64, []);
    const luck = (durationMs: Duration) =>
      Math.max(
        ...upTo(64)
          .slice(23)
          .map((size) => straight(size) / durationMs(size)),
      ) - 1;
    expect(luck(table)).toBeLessThan(0.75 * luck((size) => curve.predict(size) as number));
  });

  test('a step stays a step though durations vary', () => {
    const curve = learned(padded, [...upTo(64), ...upTo(64), ...upTo(64)], 0.1);
    const table = curveTable(curve, 64, [8, 16, 32]);
    expect(table(33)).toBeGreaterThan(1.5 * table(32));
    expect(table(17)).toBeGreaterThan(1.4 * table(16));
  });
});

describe('beyond what was seen', () => {
  test('durations grow as they did at last', () => {
    const table = curveTable(learned(knee, upTo(40)), 100, []);
    expect(table(100)).toBeCloseTo(knee(100), 0);
  });

  test('nothing is hoped for because durations vary', () => {
    const table = curveTable(
      learned((cost) => 0.3 * cost, [...upTo(40), ...upTo(40)], 0.25),
      256,
      [],
    );
    expect(256 / table(256)).toBeLessThan(1.15 / 0.3);
  });

  test('sizes that the backend is known to pad to are steps, though they were never reached', () => {
    const sizes = [1, 2, 4, 8, 16, 32, 64];
    const curve = new ServiceCurve([], sizes);
    for (const size of [1, 2, 4, 8, 16]) curve.record(size, 2 + 0.25 * size, size);
    const table = curveTable(curve, 64, sizes.slice(0, -1));
    for (const size of [17, 20, 31]) expect(table(size)).toBe(table(32));
    expect(table(33)).toBe(table(64));
    expect(table(33)).toBeGreaterThan(table(32));
  });
});
