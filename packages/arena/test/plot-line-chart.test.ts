import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type LineChartSpec, lineChart } from '../src/plot/line-chart.js';
import { named, parsePlot, textOf, texts, type XmlElement } from './support/well-formed.js';

const plain: LineChartSpec = {
  title: 'Latency',
  x: { label: 'load' },
  y: { label: 'ms' },
  series: [
    {
      name: 'ours',
      points: [
        [0, 5],
        [0.5, 7],
        [1, 20],
      ],
    },
    {
      name: 'theirs',
      points: [
        [0, 6],
        [0.5, 9],
        [1, 40],
      ],
    },
  ],
};

/** The first line's path. */
function lineOf(root: XmlElement, name: string): string {
  const group = named(root, 'g').find((g) => named(g, 'title').some((title) => textOf(title) === name));
  return group === undefined ? '' : (named(group, 'path')[0]?.attributes.d ?? '');
}

describe('a line chart', () => {
  test('has a title and a description for screen readers', () => {
    const root = parsePlot(lineChart(plain));
    expect(root.attributes.role).toBe('img');
    const [title, description] = (root.attributes['aria-labelledby'] ?? '').split(' ');
    expect(named(root, 'title').find(({ attributes }) => attributes.id === title)).toBeDefined();
    const found = named(root, 'desc').find(({ attributes }) => attributes.id === description);
    expect(found && textOf(found)).toBe(
      'ms against load. ours: from 5 at 0 to 20 at 1. theirs: from 6 at 0 to 40 at 1.',
    );
  });

  test('labels its axes and lines', () => {
    expect(texts(parsePlot(lineChart(plain)))).toEqual(
      expect.arrayContaining(['Latency', 'load', 'ms', 'ours', 'theirs']),
    );
  });

  test('gives the same bytes for the same specification', () => {
    expect(lineChart(plain)).toBe(lineChart(structuredClone(plain)));
  });

  test('has unique ids beside another chart in a page', () => {
    const ids = (svg: string) => [...svg.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    const other = lineChart({ ...plain, series: plain.series.slice(0, 1) });
    expect(ids(other).filter((id) => ids(lineChart(plain)).includes(id))).toEqual([]);
    expect(ids(lineChart({ ...plain, id: 'mine' }))).toEqual(['mine-title', 'mine-desc']);
  });

  test('includes its style, unless the page has it', () => {
    expect(named(parsePlot(lineChart(plain)), 'style')).toHaveLength(1);
    expect(named(parsePlot(lineChart({ ...plain, styled: false })), 'style')).toHaveLength(0);
  });

  test('escapes any text', () => {
    const nasty = `<script>alert("1")</script> & 'x' \u0000 \ud800 ]]>`;
    const readable = nasty.replace('\u0000', '\ufffd').replace('\ud800', '\ufffd');
    const svg = lineChart({
      title: nasty,
      description: nasty,
      x: { label: nasty },
      y: { label: nasty },
      series: [
        {
          name: nasty,
          points: [
            [1, 1],
            [2, 2],
          ],
        },
      ],
      xMarks: [{ at: 1, label: nasty }],
      yMarks: [{ at: 1, label: nasty }],
      names: 'ends',
      width: 2400,
      id: nasty.slice(0, 8),
      readout: true,
    });
    const root = parsePlot(svg.replace(/ id="[^"]*"| aria-labelledby="[^"]*"/g, ''));
    expect(named(root, 'script')).toEqual([]);
    expect(
      texts(root).filter((text) => text.replace(/\s+/g, ' ') === readable).length,
    ).toBeGreaterThanOrEqual(5);
  });

  test('has a gap at a missing value', () => {
    const points = [
      [0, 1],
      [1, 2],
      [2, Number.NaN],
      [3, 3],
      [4, Number.POSITIVE_INFINITY],
      [5, 1],
      [6, 2],
    ] as const;
    const root = parsePlot(lineChart({ ...plain, series: [{ name: 'holes', points }] }));
    expect(lineOf(root, 'holes').match(/M/g)).toHaveLength(3);
  });

  test('has a gap at zero on a logarithmic axis', () => {
    const points = [
      [1, 10],
      [2, 0],
      [3, 100],
      [4, 1000],
    ] as const;
    const root = parsePlot(
      lineChart({ ...plain, y: { label: 'ms', scale: 'log' }, series: [{ name: 'zero', points }] }),
    );
    expect(lineOf(root, 'zero').match(/M/g)).toHaveLength(2);
    expect(texts(root)).toEqual(expect.arrayContaining(['10', '100', '1,000']));
  });

  test('clips values beyond a given axis', () => {
    const points = [
      [0, 1],
      [1, 1e9],
      [2, 1],
    ] as const;
    const root = parsePlot(
      lineChart({ ...plain, y: { label: 'ms', max: 10 }, series: [{ name: 'peak', points }] }),
    );
    const ys = [...lineOf(root, 'peak').matchAll(/[ML][\d.]+ ([\d.-]+)/g)].map(([, y]) => Number(y));
    expect(ys).toHaveLength(4);
    expect(Math.min(...ys)).toBeGreaterThan(0);
  });

  test('shows that there are no values', () => {
    expect(texts(parsePlot(lineChart({ ...plain, series: [] })))).toContain('No values');
    const series = [{ name: 'nothing', points: [[Number.NaN, 1]] as const }];
    expect(texts(parsePlot(lineChart({ ...plain, series })))).toContain('No values');
  });

  test('distinguishes lines without colour', () => {
    const series = Array.from({ length: 16 }, (_, i) => ({
      name: `line ${i}`,
      points: [
        [0, i],
        [1, i],
      ] as const,
    }));
    const root = parsePlot(lineChart({ ...plain, series, height: 900, names: 'legend' }));
    const looks = series.map(({ name }) => {
      const group = named(root, 'g').find((g) =>
        named(g, 'title').some((title) => textOf(title) === name),
      ) as XmlElement;
      const [line, marker] = named(group, 'path');
      return `${line?.attributes['stroke-dasharray']} ${marker?.attributes.d?.replace(/M[\d.]+ [\d.]+/g, '').slice(0, 40)}`;
    });
    expect(new Set(looks).size).toBe(16);
  });

  test('marks a target and a knee', () => {
    const root = parsePlot(
      lineChart({ ...plain, yMarks: [{ at: 30, label: 'target' }], xMarks: [{ at: 0.8, label: 'knee' }] }),
    );
    expect(texts(root)).toEqual(expect.arrayContaining(['target', 'knee']));
  });

  test('uses a legend if names at the ends have no room', () => {
    const narrow = named(parsePlot(lineChart({ ...plain, width: 320 })), 'text').find(
      (text) => textOf(text) === 'ours',
    );
    const wide = named(parsePlot(lineChart(plain)), 'text').find((text) => textOf(text) === 'ours');
    expect(Number(narrow?.attributes.x)).toBeLessThan(100);
    expect(Number(wide?.attributes.x)).toBeGreaterThan(600);
  });

  test('includes its values for a script on request', () => {
    expect(lineChart(plain)).not.toContain('data-readout');
    const root = parsePlot(lineChart({ ...plain, readout: true }));
    const { at, series } = JSON.parse(root.attributes['data-readout'] ?? '');
    expect(series).toEqual([
      ['ours', 'plot-series-1'],
      ['theirs', 'plot-series-2'],
    ]);
    expect(at.map(([, x]: [number, string]) => x)).toEqual(['0', '0.5', '1']);
    expect(at[2][2].map(([, value]: [number, string]) => value)).toEqual(['20.00', '40.00']);
  });
});

const anyNumber = fc.oneof(
  fc.double(),
  fc.integer({ min: -5, max: 5 }),
  fc.constantFrom(
    0,
    -0,
    1e-320,
    5e-324,
    1e308,
    -1e308,
    1e15,
    1e15 + 0.125,
    Number.NaN,
    Number.NEGATIVE_INFINITY,
  ),
);
const anyAxis = fc.record(
  {
    label: fc.string(),
    scale: fc.constantFrom('linear' as const, 'log' as const),
    min: anyNumber,
    max: anyNumber,
    format: fc.constantFrom('number' as const, 'percent' as const),
  },
  { requiredKeys: ['label'] },
);
const anyMark = fc.record({ at: anyNumber, label: fc.string() }, { requiredKeys: ['at'] });
const anyText = fc.string({ unit: 'binary' });

test('any specification gives a well-formed chart with finite coordinates within its bounds', () => {
  const anySpec = fc.record(
    {
      title: anyText,
      x: anyAxis,
      y: anyAxis,
      series: fc.array(
        fc.record({
          name: anyText,
          points: fc.array(fc.tuple(anyNumber, anyNumber)),
          dashed: fc.boolean(),
          emphasized: fc.boolean(),
        }),
        { maxLength: 12 },
      ),
      xMarks: fc.array(anyMark, { maxLength: 3 }),
      yMarks: fc.array(anyMark, { maxLength: 3 }),
      names: fc.constantFrom('ends' as const, 'legend' as const, 'none' as const),
      width: fc.integer({ min: 240, max: 1200 }),
      height: fc.integer({ min: 160, max: 900 }),
      readout: fc.boolean(),
    },
    { requiredKeys: ['title', 'x', 'y', 'series'] },
  );
  const drawsWell = fc.property(anySpec, (spec) => {
    const root = parsePlot(lineChart(spec));
    const { width = 720 } = spec;
    for (const path of named(root, 'path')) {
      for (const [, x] of (path.attributes.d ?? '').matchAll(/[ML](-?[\d.]+) /g)) {
        expect(Number(x)).toBeGreaterThanOrEqual(-1);
        expect(Number(x)).toBeLessThanOrEqual(width + 15);
      }
    }
  });
  fc.assert(drawsWell, { numRuns: 120 });
});
