import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { GRID_CURVES } from '../src/grid/grid-curves.js';
import { cornersOf, knownPoints, sizesToTry } from '../src/plan/plan-curve.js';
import { formulaCurve, tableCurve } from '../src/simulation/curve.js';

describe('the corners of a curve', () => {
  test('of a line are its ends', () => {
    const costs = cornersOf(formulaCurve('line', 64, (b) => 5 + 0.1 * b)).map(({ cost }) => cost);
    expect(costs).toEqual([1, 64]);
  });

  test('of a table are its points', () => {
    const points = [1, 2, 8, 64].map((size, i) => ({ size, ms: [3, 5, 6, 30][i] ?? 0 }));
    expect(cornersOf(tableCurve('table', points))).toEqual(
      points.map(({ size, ms }) => ({ cost: size, durationMs: ms })),
    );
  });

  test('of steps are both ends of each', () => {
    const steps = formulaCurve('steps', 32, (b) => Math.ceil(b / 8));
    expect(cornersOf(steps).map(({ cost }) => cost)).toEqual([1, 8, 9, 16, 17, 24, 25, 32]);
  });

  test('of one size are that one', () => {
    expect(cornersOf(formulaCurve('one', 1, () => 7))).toEqual([{ cost: 1, durationMs: 7 }]);
  });

  test.each(GRID_CURVES)('describe $name within 1 %, and are few', (curve) => {
    const corners = cornersOf(curve);
    const between = tableCurve(
      'corners',
      corners.map(({ cost, durationMs }) => ({ size: cost, ms: durationMs })),
    );
    for (let size = 1; size <= curve.maxBatchSize; size++) {
      const ratio = between.durationMs(size) / curve.durationMs(size);
      expect(Math.abs(ratio - 1)).toBeLessThan(0.0101);
    }
    expect(corners.length).toBeLessThanOrEqual(24);
  });

  test('of any table describe it completely', () => {
    const tables = fc
      .uniqueArray(
        fc.record({
          size: fc.integer({ min: 1, max: 300 }),
          ms: fc.double({ min: 0.1, max: 100, noNaN: true }),
        }),
        {
          minLength: 1,
          maxLength: 20,
          selector: ({ size }) => size,
        },
      )
      .map((points) => points.sort((a, b) => a.size - b.size));
    fc.assert(
      fc.property(tables, (points) => {
        const curve = tableCurve('any', points);
        const between = tableCurve(
          'corners',
          cornersOf(curve).map(({ cost, durationMs }) => ({ size: cost, ms: durationMs })),
        );
        for (let size = 1; size <= curve.maxBatchSize; size++) {
          expect(between.durationMs(size)).toBeCloseTo(curve.durationMs(size), 5);
        }
      }),
    );
  });

  test('are rounded', () => {
    const [point] = knownPoints(formulaCurve('third', 1, () => 10 / 3));
    expect(point).toEqual({ cost: 1, durationMs: 3.333 });
  });
});

describe('candidate sizes', () => {
  test('are the one with the best throughput, the largest, and the largest within half the target', () => {
    const curve = tableCurve('worse past 32', [
      { size: 1, ms: 4 },
      { size: 32, ms: 8 },
      { size: 64, ms: 40 },
    ]);
    expect(sizesToTry(curve, 100)).toEqual([32, 64]);
    expect(sizesToTry(curve, 40)).toEqual([32, 64, 44]);
    expect(sizesToTry(curve, 12)).toEqual([32, 36, 16]);
  });

  test('are within the target, if any size is', () => {
    const curve = formulaCurve('line', 64, (b) => 5 + 0.1 * b);
    expect(sizesToTry(curve, 7)).toEqual([20]);
    expect(sizesToTry(curve, 4)).toEqual([1]);
  });
});
