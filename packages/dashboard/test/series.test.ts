import { expect, test } from 'vitest';
import type { LoadPagePoint, LoadPageReport } from '../src/load-page/page-state.js';
import { Series } from '../src/load-page/series.js';

function points(from: number, to: number, ok = 1): LoadPagePoint[] {
  return Array.from({ length: to - from }, (_, i) => ({ second: from + i, ok }) as LoadPagePoint);
}

test('seconds that come again replace those that were there', () => {
  const series = new Series();
  expect(series.next).toEqual({ run: 0, since: 0 });
  series.add(1, points(0, 30));
  expect(series.next).toEqual({ run: 1, since: 19 });
  series.add(1, points(19, 32, 2));
  expect(series.points.map(({ second }) => second)).toEqual(points(0, 32).map(({ second }) => second));
  expect(series.points.map(({ ok }) => ok)).toEqual([...Array(19).fill(1), ...Array(13).fill(2)]);
});

test('a response without seconds changes nothing', () => {
  const series = new Series();
  series.add(1, points(0, 3));
  series.add(1, []);
  expect(series.points).toHaveLength(3);
});

test('another run begins anew', () => {
  const series = new Series();
  series.add(1, points(0, 30));
  series.add(2, points(0, 2));
  expect(series.points).toHaveLength(2);
  expect(series.next).toEqual({ run: 2, since: 0 });
  series.clear();
  expect(series.next).toEqual({ run: 0, since: 0 });
});

test('the last hour is kept', () => {
  const series = new Series();
  series.add(1, points(0, 5000));
  expect(series.points).toHaveLength(3600);
  expect(series.points[0]?.second).toBe(1400);
});

test('a second is shown when all of it has been reported', () => {
  const series = new Series();
  series.add(1, points(0, 5));
  const shown = (state: 'running' | 'ended', seconds: number, processes = 1) =>
    series.whole(state, { seconds, generator: { processes } } as LoadPageReport).length;
  expect([shown('running', 4.9), shown('running', 5), shown('running', 5, 2)]).toEqual([4, 5, 4]);
  expect([shown('ended', 4.4), shown('ended', 4.5), shown('ended', 3)]).toEqual([4, 5, 5]);
});
