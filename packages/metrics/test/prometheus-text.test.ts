import fc from 'fast-check';
import { expect, test } from 'vitest';
import { prometheusText } from '../src/prometheus-text.js';
import { Registry } from '../src/registry.js';
import { arbitrarySnapshot } from './support/arbitrary-snapshot.js';
import { parseExposition, sampleValue } from './support/exposition.js';

test('writes the Prometheus text format', () => {
  const registry = new Registry();
  const counter = registry.counter({ name: 'a_total', help: 'With \\ and\nline.', labels: ['x', 'y'] });
  counter.labels('say "hi"\n', 'back\\slash').inc(3);
  registry.gauge({ name: 'b', help: 'B.', labels: [], rule: 'sum' }).labels().set(-1.5);
  const histogram = registry.histogram({
    name: 'c',
    help: 'C.',
    labels: ['z'],
    bounds: [0.1, 1],
    parts: 1e6,
  });
  for (const value of [0.05, 0.1, 0.5, 7]) histogram.labels('z').observe(value);
  const bare = registry.histogram({ name: 'd', help: 'D.', labels: [], bounds: [], parts: 1 });
  bare.labels().observe(2);
  expect(prometheusText(registry.snapshot())).toBe(String.raw`# HELP a_total With \\ and\nline.
# TYPE a_total counter
a_total{x="say \"hi\"\n",y="back\\slash"} 3
# HELP b B.
# TYPE b gauge
b -1.5
# HELP c C.
# TYPE c histogram
c_bucket{z="z",le="0.1"} 2
c_bucket{z="z",le="1"} 3
c_bucket{z="z",le="+Inf"} 4
c_sum{z="z"} 7.65
c_count{z="z"} 4
# HELP d D.
# TYPE d histogram
d_bucket{le="+Inf"} 1
d_sum 2
d_count 1
`);
});

test('omits metrics without series; an empty snapshot is an empty text', () => {
  const registry = new Registry();
  registry.counter({ name: 'a_total', help: 'A.', labels: ['x'] });
  expect(prometheusText(registry.snapshot())).toBe('');
});

/** The built-in arbitrary takes seconds to create. */
const anyCharacter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code));

test('any labels can be parsed back', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string({ unit: anyCharacter, maxLength: 8 }), { maxLength: 8 }),
      fc.string(),
      (names, help) => {
        const registry = new Registry();
        const counter = registry.counter({ name: 'a_total', help, labels: ['x', 'y'] });
        names.forEach((name, i) => {
          counter.labels(name, 'y').inc(i);
        });
        const families = parseExposition(prometheusText(registry.snapshot()));
        if (names.length > 0) expect(families.get('a_total')?.help).toBe(help);
        names.forEach((name, i) => {
          expect(sampleValue(families, 'a_total', { x: name, y: 'y' })).toBe(i);
        });
      },
    ),
  );
});

test('every number can be parsed back', () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
      const registry = new Registry();
      registry.gauge({ name: 'a', help: 'A.', labels: [], rule: 'sum' }).labels().set(value);
      // The format does not distinguish 0 and −0.
      expect(sampleValue(parseExposition(prometheusText(registry.snapshot())), 'a')).toBe(value + 0);
    }),
  );
});

test('snapshots of all kinds are well-formed, with every series in them', () => {
  fc.assert(
    fc.property(arbitrarySnapshot, (snapshot) => {
      const families = parseExposition(prometheusText(snapshot));
      for (const { name, type, series } of snapshot) {
        if (series.length === 0) continue;
        const counted = families
          .get(name)
          ?.samples.filter((s) => type !== 'histogram' || s.name.endsWith('_count'));
        expect(counted).toHaveLength(series.length);
      }
    }),
  );
});

test.each([
  ['no end of line', '# HELP a A.\n# TYPE a gauge\na 1'],
  ['no HELP', '# TYPE a gauge\na 1\n'],
  ['a sample twice', '# HELP a A.\n# TYPE a gauge\na{x="1"} 1\na{x="1"} 2\n'],
  ['a quote in a label', '# HELP a A.\n# TYPE a gauge\na{x="""} 1\n'],
  ['a metric twice', '# HELP a A.\n# TYPE a gauge\na 1\n# HELP a A.\n# TYPE a gauge\na{x="1"} 1\n'],
  ['an invalid number', '# HELP a A.\n# TYPE a gauge\na undefined\n'],
  ['a counter without _total', '# HELP a A.\n# TYPE a counter\na 1\n'],
  [
    'buckets that shrink',
    '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 2\na_bucket{le="+Inf"} 1\na_sum 1\na_count 1\n',
  ],
  ['no infinite bucket', '# HELP a A.\n# TYPE a histogram\na_bucket{le="1"} 1\na_sum 1\na_count 1\n'],
  ['no sum', '# HELP a A.\n# TYPE a histogram\na_bucket{le="+Inf"} 1\na_count 1\n'],
])('the parser of these tests rejects %s', (_, text) => {
  expect(() => parseExposition(text)).toThrow();
});
