import { expect, test } from 'vitest';
import { lineFit } from '../../src/peers/bentoml-policy.js';

test('points on a line give that line', () => {
  const points = [1, 2, 5].map((x) => ({ x, y: 10 + 3 * x }));
  expect(lineFit(points).slope).toBeCloseTo(3);
  expect(lineFit(points).intercept).toBeCloseTo(10);
});

test('other points get the least-squares line', () => {
  const { slope, intercept } = lineFit([
    { x: 0, y: 0 },
    { x: 1, y: 3 },
    { x: 2, y: 3 },
  ]);
  expect(slope).toBeCloseTo(1.5);
  expect(intercept).toBeCloseTo(0.5);
});

test('with one size only, 1 ms per item and 10 ms overhead fit as 1.31 ms per item without overhead', () => {
  const { slope, intercept } = lineFit(Array.from({ length: 50 }, () => ({ x: 32, y: 42 })));
  expect(slope).toBeCloseTo(1.31, 2);
  expect(intercept).toBeCloseTo(0.04, 2);
});
