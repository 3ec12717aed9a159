/** Counters, gauges and histograms, and the registry that holds them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { HistogramSnapshot, MetricSnapshot } from '../src/metrics-snapshot.js';
import { Registry } from '../src/registry.js';

function only(registry: Registry): MetricSnapshot {
  const [metric, ...others] = registry.snapshot();
  expect(others).toEqual([]);
  return metric as MetricSnapshot;
}

test('a counter counts for each set of label values', () => {
  const registry = new Registry();
  const counter = registry.counter({ name: 'a_total', help: 'A.', labels: ['x', 'y'] });
  const one = counter.labels('1', '2');
  one.inc();
  one.inc(2);
  counter.labels('12', '').inc();
  expect(counter.labels('1', '2')).toBe(one);
  expect(only(registry)).toEqual({
    type: 'counter',
    name: 'a_total',
    help: 'A.',
    labelNames: ['x', 'y'],
    parts: 1,
    series: [
      { labels: ['1', '2'], value: 3 },
      { labels: ['12', ''], value: 1 },
    ],
  });
});

test.each([-1, Number.NaN, Number.POSITIVE_INFINITY])(
  'counting and observing %s changes nothing',
  (amount) => {
    const registry = new Registry();
    const counter = registry.counter({ name: 'a_total', help: 'A.', labels: [] });
    const histogram = registry.histogram({ name: 'b', help: 'B.', labels: [], bounds: [1], parts: 1 });
    counter.labels().inc(amount);
    histogram.labels().observe(amount);
    expect(registry.snapshot()).toMatchObject([
      { series: [{ value: 0 }] },
      { series: [{ counts: [0, 0], sum: 0 }] },
    ]);
  },
);

test('a metric without labels exists from the start', () => {
  const registry = new Registry();
  registry.counter({ name: 'a_total', help: 'A.', labels: [] });
  expect(only(registry).series).toEqual([{ labels: [], value: 0 }]);
});

test('a gauge exports its last value, and nothing while the value is unknown', () => {
  const registry = new Registry();
  const gauge = registry.gauge({ name: 'a', help: 'A.', labels: ['x'], rule: 'max' });
  gauge.labels('never set');
  gauge.labels('set').set(1);
  gauge.labels('set').set(-2);
  gauge.labels('cleared').set(1);
  gauge.labels('cleared').set(undefined);
  gauge.labels('no number').set(Number.NaN);
  gauge.labels('endless').set(Number.POSITIVE_INFINITY);
  expect(only(registry)).toMatchObject({ rule: 'max', series: [{ labels: ['set'], value: -2 }] });
});

test('a value equal to a bound is in the bucket below the bound', () => {
  const registry = new Registry();
  const histogram = registry.histogram({ name: 'a', help: 'A.', labels: [], bounds: [1, 2, 4], parts: 1 });
  for (const value of [4, 0, 1, 2, 3, 5, 1, 4]) histogram.labels().observe(value);
  expect(only(registry).series).toEqual([{ labels: [], bounds: [1, 2, 4], counts: [3, 1, 3, 1], sum: 20 }]);
});

test('every value is in its bucket, whatever the previous values', () => {
  const bounds = fc.uniqueArray(fc.integer({ min: 0, max: 50 })).map((all) => all.sort((a, b) => a - b));
  fc.assert(
    fc.property(bounds, fc.array(fc.integer({ min: 0, max: 60 })), (bounds, values) => {
      const registry = new Registry();
      const child = registry.histogram({ name: 'a', help: 'A.', labels: [], bounds, parts: 1 }).labels();
      for (const value of values) child.observe(value);
      const expected = [...bounds, Infinity].map(
        (bound, i) => values.filter((value) => value <= bound && value > (bounds[i - 1] ?? -1)).length,
      );
      expect(child.buckets().counts).toEqual(expected);
    }),
  );
});

test('the sum of a histogram is kept in whole parts', () => {
  const registry = new Registry();
  const child = registry.histogram({ name: 'a', help: 'A.', labels: [], bounds: [1], parts: 1e6 }).labels();
  for (let i = 0; i < 10; i++) child.observe(0.1);
  child.observe(0.000_000_4);
  expect(child.buckets().sum).toBe(1_000_000);
});

test('a histogram that covers more bounds keeps what it has counted', () => {
  const registry = new Registry();
  const histogram = registry.histogram({ name: 'a', help: 'A.', labels: ['x'], bounds: [1], parts: 1 });
  const child = histogram.labels('x');
  child.cover([1, 2, 3]);
  for (const value of [1, 2, 3, 9]) child.observe(value);
  child.cover([1, 2, 4, 8]);
  for (const value of [3, 4, 9]) child.observe(value);
  child.cover([2]);
  expect(child.buckets()).toEqual({ bounds: [1, 2, 3, 4, 8], counts: [1, 1, 2, 1, 0, 2], sum: 31 });
  expect((only(registry) as HistogramSnapshot).series).toHaveLength(1);
});

test('label sets above the limit are counted as other', () => {
  const registry = new Registry({ maxLabelSets: 2 });
  const counter = registry.counter({ name: 'a_total', help: 'A.', labels: ['x', 'y'] });
  for (let i = 0; i < 1000; i++) counter.labels(`${i}`, 'y').inc();
  counter.labels('1', 'y').inc();
  expect(only(registry).series).toEqual([
    { labels: ['0', 'y'], value: 1 },
    { labels: ['1', 'y'], value: 2 },
    { labels: ['other', 'other'], value: 998 },
  ]);
});

test('a label value "other" is not counted twice', () => {
  const registry = new Registry({ maxLabelSets: 1 });
  const counter = registry.counter({ name: 'a_total', help: 'A.', labels: ['x'] });
  for (const name of ['other', 'b', 'c', 'other']) counter.labels(name).inc();
  expect(only(registry).series).toEqual([{ labels: ['other'], value: 4 }]);
});

test('gauges above the limit are hidden', () => {
  const registry = new Registry({ maxLabelSets: 1 });
  const gauge = registry.gauge({ name: 'a', help: 'A.', labels: ['x'], rule: 'sum' });
  for (const name of ['a', 'b', 'c']) gauge.labels(name).set(1);
  expect(only(registry).series).toEqual([{ labels: ['a'], value: 1 }]);
});

test('removing a label set frees its place; other is kept', () => {
  const registry = new Registry({ maxLabelSets: 3 });
  const counter = registry.counter({ name: 'a_total', help: '', labels: ['x', 'y'] });
  const shown = () =>
    Object.fromEntries(counter.snapshot().series.map(({ labels, value }) => [labels.join(), value]));
  counter.labels('a', '1').inc();
  counter.labels('a', '2').inc();
  counter.labels('b', 'a').inc();
  counter.labels('c', '1').inc();
  expect(shown()).toEqual({ 'a,1': 1, 'a,2': 1, 'b,a': 1, 'other,other': 1 });
  counter.remove({ x: 'a' });
  counter.remove({ x: 'other' });
  counter.remove({ x: 'b', y: '1' });
  counter.remove({ y: 'nobody' });
  counter.labels('b', 'a').inc();
  counter.labels('d', '1').inc(5);
  counter.labels('e', '1').inc(7);
  expect(shown()).toEqual({ 'b,a': 2, 'd,1': 5, 'other,other': 8 });
});

test('removing a label set does not affect others', () => {
  const counter = new Registry().counter({ name: 'a_total', help: '', labels: ['x', 'y'] });
  for (const y of ['1', '2']) counter.labels('a', y).inc();
  counter.remove({ x: 'a', y: '1' });
  counter.labels('a', '2').inc();
  expect(counter.snapshot().series).toEqual([{ labels: ['a', '2'], value: 2 }]);
});

test('a removed label set starts from 0 when it returns', () => {
  const gauge = new Registry().gauge({ name: 'a', help: '', labels: ['x'], rule: 'sum' });
  const former = gauge.labels('a');
  former.set(1);
  gauge.remove({ x: 'a' });
  former.set(2);
  expect(gauge.snapshot().series).toEqual([]);
  gauge.labels('a').set(3);
  expect(gauge.snapshot().series).toEqual([{ labels: ['a'], value: 3 }]);
});

test('label values may be anything, __proto__ included', () => {
  const registry = new Registry();
  const counter = registry.counter({ name: 'a_total', help: 'A.', labels: ['x'] });
  const names = ['__proto__', 'constructor', '', '\0', '"\\\n'];
  for (const name of names) counter.labels(name).inc();
  expect(only(registry).series).toEqual(names.map((name) => ({ labels: [name], value: 1 })));
});

test('collectors run before each snapshot', () => {
  const registry = new Registry();
  const gauge = registry.gauge({ name: 'a', help: 'A.', labels: [], rule: 'sum' }).labels();
  let looks = 0;
  registry.onCollect(() => gauge.set(++looks));
  registry.snapshot();
  expect(only(registry).series).toEqual([{ labels: [], value: 2 }]);
});

test('a snapshot is immutable, and survives JSON and structured clone', () => {
  const registry = new Registry();
  const counter = registry.counter({ name: 'a_total', help: 'A.', labels: ['x'] });
  const histogram = registry.histogram({ name: 'b', help: 'B.', labels: ['x'], bounds: [1], parts: 1e6 });
  const gauge = registry.gauge({ name: 'c', help: 'C.', labels: ['x'], rule: 'min' });
  const count = () => {
    counter.labels('x').inc();
    histogram.labels('x').observe(0.3);
    gauge.labels('x').set(Math.random());
  };
  count();
  const snapshot = registry.snapshot();
  const text = JSON.stringify(snapshot);
  count();
  expect(JSON.stringify(snapshot)).toBe(text);
  expect(JSON.parse(text)).toEqual(snapshot);
  expect(structuredClone(snapshot)).toEqual(snapshot);
});

test.each(['', '1a', 'a b', 'a-b', 'ä', 'a\n'])('%j is rejected as the name of a metric', (name) => {
  const registry = new Registry();
  expect(() => registry.counter({ name, help: '', labels: [] })).toThrow(JSON.stringify(name));
});

test.each(['', '1a', 'a:b', 'le', '__a', 'a\n'])('%j is rejected as a label', (label) => {
  const registry = new Registry();
  expect(() => registry.gauge({ name: 'a', help: '', labels: [label], rule: 'sum' })).toThrow(
    JSON.stringify(label),
  );
});

test('rejects bounds that do not ascend and a wrong number of label values', () => {
  const registry = new Registry();
  const histogram = (bounds: number[]) =>
    registry.histogram({ name: 'a', help: '', labels: ['x'], bounds, parts: 1 });
  expect(() => histogram([1, 1])).toThrow('ascending; got 1, 1');
  expect(() => histogram([1, Number.POSITIVE_INFINITY])).toThrow('finite');
  const labels = histogram([1]) as unknown as { labels(...values: string[]): unknown };
  expect(() => labels.labels()).toThrow('expected 1 label values (x), got 0');
});

test('rejects two metrics of one name', () => {
  const registry = new Registry();
  registry.counter({ name: 'a_total', help: '', labels: [] });
  expect(() => registry.gauge({ name: 'a_total', help: '', labels: [], rule: 'sum' })).toThrow(
    'the metric a_total already exists',
  );
});
