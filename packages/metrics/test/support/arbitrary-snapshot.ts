/** Snapshots of the processes of one server: the same metrics with any labels and numbers. */
import fc from 'fast-check';
import type {
  GaugeRule,
  HistogramSeries,
  MetricSnapshot,
  MetricsSnapshot,
  ValueSeries,
} from '../../src/metrics-snapshot.js';

const count = fc.nat({ max: 1_000_000 });
const label = fc.constantFrom('a', 'b', '', '"', '__proto__', 'a","b', '\\n\n');
const labels = fc.tuple(label, label);

const values: fc.Arbitrary<ValueSeries[]> = fc.uniqueArray(fc.record({ labels, value: count }), {
  selector: (series) => JSON.stringify(series.labels),
  maxLength: 4,
});

const bounds = fc.subarray([0.5, 1, 2, 3, 4, 8]);
const histogramSeries: fc.Arbitrary<HistogramSeries> = bounds.chain((bounds) =>
  fc.record({
    labels,
    bounds: fc.constant(bounds),
    counts: fc.array(count, { minLength: bounds.length + 1, maxLength: bounds.length + 1 }),
    sum: count,
  }),
);
const histograms = fc.uniqueArray(histogramSeries, {
  selector: (series) => JSON.stringify(series.labels),
  maxLength: 4,
});

const described = (name: string) => ({ name, help: `About\n${name}.`, labelNames: ['x', 'y'] });
const gauge = (rule: GaugeRule): fc.Arbitrary<MetricSnapshot> =>
  values.map((series) => ({ type: 'gauge', ...described(`${rule}_of_it`), rule, series }));
const counter: fc.Arbitrary<MetricSnapshot> = values.map((series) => ({
  type: 'counter',
  ...described('counted_total'),
  parts: 1e6,
  series,
}));
const histogram: fc.Arbitrary<MetricSnapshot> = histograms.map((series) => ({
  type: 'histogram',
  ...described('measured'),
  parts: 1e6,
  series,
}));

/** Processes may have different metrics in different orders. */
export const arbitrarySnapshot: fc.Arbitrary<MetricsSnapshot> = fc
  .tuple(counter, gauge('sum'), gauge('max'), gauge('min'), histogram)
  .chain((metrics) => fc.shuffledSubarray([...metrics]));
