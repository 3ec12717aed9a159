import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mergeSnapshots } from '../src/merge-snapshots.js';
import type { MetricSnapshot, MetricsSnapshot } from '../src/metrics-snapshot.js';
import { prometheusText } from '../src/prometheus-text.js';
import { arbitrarySnapshot } from './support/arbitrary-snapshot.js';
import { parseExposition } from './support/exposition.js';

/** The lines in sorted order. */
function numbers(snapshot: MetricsSnapshot): string[] {
  return prometheusText(snapshot).split('\n').sort();
}

test('merging is associative and does not depend on the order', () => {
  fc.assert(
    fc.property(arbitrarySnapshot, arbitrarySnapshot, arbitrarySnapshot, (a, b, c) => {
      const flat = mergeSnapshots([a, b, c]);
      expect(mergeSnapshots([mergeSnapshots([a, b]), c])).toEqual(flat);
      expect(mergeSnapshots([a, mergeSnapshots([b, c])])).toEqual(flat);
      expect(numbers(mergeSnapshots([c, a, b]))).toEqual(numbers(flat));
    }),
  );
});

test('merging with an empty snapshot changes nothing, and inputs are not modified', () => {
  fc.assert(
    fc.property(arbitrarySnapshot, arbitrarySnapshot, (a, b) => {
      const before = JSON.stringify([a, b]);
      expect(mergeSnapshots([a, []])).toEqual(a);
      expect(mergeSnapshots([[], a])).toEqual(a);
      mergeSnapshots([a, b]);
      expect(JSON.stringify([a, b])).toBe(before);
    }),
  );
});

test('a merged snapshot is well-formed', () => {
  fc.assert(
    fc.property(fc.array(arbitrarySnapshot), (snapshots) => {
      parseExposition(prometheusText(mergeSnapshots(snapshots)));
    }),
  );
});

test('counters add up, gauges follow their rule', () => {
  const process = (value: number): MetricsSnapshot => [
    { type: 'counter', name: 'a_total', help: '', labelNames: [], parts: 1, series: [{ labels: [], value }] },
    ...(['sum', 'max', 'min'] as const).map(
      (rule): MetricSnapshot => ({
        type: 'gauge',
        name: rule,
        help: '',
        labelNames: ['x'],
        rule,
        series: [{ labels: ['x'], value }],
      }),
    ),
  ];
  const values = mergeSnapshots([process(3), process(7), process(2)]).map(({ series }) => series);
  expect(values).toMatchObject([[{ value: 12 }], [{ value: 12 }], [{ value: 7 }], [{ value: 2 }]]);
});

test('merging histograms with different bounds loses no count', () => {
  const process = (bounds: number[], counts: number[]): MetricsSnapshot => [
    {
      type: 'histogram',
      name: 'a',
      help: '',
      labelNames: [],
      parts: 1,
      series: [{ labels: [], bounds, counts, sum: 10 }],
    },
  ];
  const merged = mergeSnapshots([
    process([1, 2, 3], [1, 2, 3, 4]),
    process([1, 2, 4, 8], [10, 20, 30, 40, 50]),
  ]);
  expect(merged[0]?.series).toEqual([
    { labels: [], bounds: [1, 2, 3, 4, 8], counts: [11, 22, 3, 30, 40, 54], sum: 20 },
  ]);
});

test('rejects different metrics of the same name', () => {
  const counter = { type: 'counter', name: 'a', help: '', labelNames: ['x'], parts: 1, series: [] } as const;
  const gauge = { type: 'gauge', name: 'a', help: '', labelNames: [], rule: 'max', series: [] } as const;
  expect(() => mergeSnapshots([[counter], [gauge]])).toThrow(
    'a is a counter (1/1) by x in one process and a gauge (max) by nothing in another',
  );
});
