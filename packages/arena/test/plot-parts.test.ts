/** The parts of charts: ticks, scales, labels, lines, text. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clippedLine } from '../src/plot/clipped-line.js';
import { spreadLabels } from '../src/plot/end-labels.js';
import { scaleFor } from '../src/plot/scale.js';
import { shortened, textWidth, wrapped } from '../src/plot/text-width.js';
import { precise, readable, tickLabels } from '../src/plot/ticks.js';

const axis = { rounded: true, pixelsPerTick: 50 };

describe('ticks', () => {
  const labels = (values: number[], scale: 'linear' | 'log' = 'linear', pixels = 300) =>
    scaleFor({ label: '', scale }, values, 0, pixels, axis).ticks.map(({ label }) => label);

  test.each([
    [
      [0, 1],
      ['0', '0.2', '0.4', '0.6', '0.8', '1'],
    ],
    [
      [0, 1300],
      ['0', '500', '1,000', '1,500'],
    ],
    [
      [97, 103],
      ['97', '98', '99', '100', '101', '102', '103'],
    ],
    [
      [-3, 5],
      ['−4', '−2', '0', '2', '4', '6'],
    ],
    [
      [5, 5],
      ['0', '1', '2', '3', '4', '5', '6'],
    ],
    [
      [0, 0],
      ['0', '0.2', '0.4', '0.6', '0.8', '1'],
    ],
    [[], ['0', '0.2', '0.4', '0.6', '0.8', '1']],
    [
      [0, 3e7],
      ['0', '5·10⁶', '10⁷', '1.5·10⁷', '2·10⁷', '2.5·10⁷', '3·10⁷'],
    ],
  ])('of %j are %j', (values, expected) => {
    expect(labels(values)).toEqual(expected);
  });

  test.each([
    [
      [1, 100],
      ['1', '2', '5', '10', '20', '50', '100'],
    ],
    [
      [3, 7],
      ['2', '4', '6', '8', '10'],
    ],
    [
      [1, 1e6],
      ['10⁰', '10¹', '10²', '10³', '10⁴', '10⁵', '10⁶'],
    ],
    [
      [1e-250, 1e250],
      ['10⁻²⁰⁰', '10⁻¹⁰⁰', '10⁰', '10¹⁰⁰', '10²⁰⁰'],
    ],
  ])('of %j on a logarithmic axis are %j', (values, expected) => {
    expect(labels(values, 'log')).toEqual(expected);
  });

  test('are within their axis, ascending, and not too many', () => {
    const number = fc.double({ noNaN: true });
    const property = fc.property(
      fc.array(number),
      fc.constantFrom('linear' as const, 'log' as const),
      (values, scale) => {
        const { min, max, ticks, toPixel } = scaleFor({ label: '', scale }, values, 0, 400, axis);
        expect(max).toBeGreaterThan(min);
        expect(ticks.length).toBeGreaterThanOrEqual(1);
        expect(ticks.length).toBeLessThanOrEqual(24);
        const pixels = ticks.map(({ at }) => toPixel(at));
        for (const [i, pixel] of pixels.entries()) {
          expect(pixel).toBeGreaterThanOrEqual(i === 0 ? -0.5 : (pixels[i - 1] as number));
          expect(pixel).toBeLessThanOrEqual(400.5);
        }
      },
    );
    fc.assert(property, { numRuns: 1000 });
  });

  test('may be percentages', () => {
    expect(tickLabels([0, 0.5, 1], 'percent')).toEqual(['0 %', '50 %', '100 %']);
  });

  test('may be percentiles', () => {
    const labels = tickLabels([2, 5, 10, 1 / (1 - 0.99), 1000, 10_000], 'percentile');
    expect(labels).toEqual(['50 %', '80 %', '90 %', '99 %', '99.9 %', '99.99 %']);
  });
});

test('numbers are readable', () => {
  expect([0, 1234567, 1234.5, 12.345, 0.00001, -3.5, Number.NaN].map(readable)).toEqual([
    '0',
    '1.23·10⁶',
    '1,235',
    '12.3',
    '10⁻⁵',
    '−3.5',
    '–',
  ]);
  expect([0, 12.3, 0.5, 999.96, 5000].map(precise)).toEqual(['0', '12.30', '0.500', '1000', '5,000']);
});

describe('labels at the ends of lines', () => {
  test('keep their positions if there is room', () => {
    expect(spreadLabels([80, 20, 50], 15, 0, 100)).toEqual([80, 20, 50]);
  });

  test('move apart evenly if they would overlap', () => {
    expect(spreadLabels([50, 50, 50], 10, 0, 100)).toEqual([40, 50, 60]);
  });

  test('never overlap, keep their order and stay within the span', () => {
    const heights = fc.array(fc.double({ min: 0, max: 300, noNaN: true }), { maxLength: 20 });
    const property = fc.property(heights, (wanted) => {
      const places = spreadLabels(wanted, 15, 0, 300);
      const order = wanted.map((_, i) => i).sort((a, b) => (places[a] as number) - (places[b] as number));
      order.forEach((index, rank) => {
        const place = places[index] as number;
        expect(place).toBeGreaterThanOrEqual(-1e-9);
        expect(place).toBeLessThanOrEqual(300 + 1e-9);
        if (rank === 0) return;
        const before = order[rank - 1] as number;
        expect(place - (places[before] as number)).toBeGreaterThanOrEqual(15 - 1e-9);
        expect(wanted[index]).toBeGreaterThanOrEqual(wanted[before] as number);
      });
    });
    fc.assert(property, { numRuns: 500 });
  });
});

describe('a clipped line', () => {
  const box = { left: 0, right: 10, top: 0, bottom: 10 };

  test('ends at the edge and continues at the edge', () => {
    expect(
      clippedLine(
        [
          [2, 5],
          [4, -5],
          [6, 5],
        ],
        box,
      ),
    ).toEqual([
      [
        [2, 5],
        [3, 0],
      ],
      [
        [5, 0],
        [6, 5],
      ],
    ]);
  });

  test('crosses the box if both ends are outside', () => {
    expect(
      clippedLine(
        [
          [-5, 5],
          [15, 5],
        ],
        box,
      ),
    ).toEqual([
      [
        [0, 5],
        [10, 5],
      ],
    ]);
  });

  test('is empty if it is completely outside', () => {
    expect(
      clippedLine(
        [
          [-5, -5],
          [15, -5],
        ],
        box,
      ),
    ).toEqual([]);
  });

  test('stays in the box for any coordinates', () => {
    const far = fc.oneof(
      fc.double({ min: -1e280, max: 1e280, noNaN: true }),
      fc.integer({ min: -3, max: 13 }),
    );
    const property = fc.property(fc.array(fc.tuple(far, far)), (pixels) => {
      for (const [x, y] of clippedLine(pixels, box).flat()) {
        expect(Math.min(x, y, 10 - x, 10 - y)).toBeGreaterThanOrEqual(-0.01);
      }
    });
    fc.assert(property, { numRuns: 500 });
  });
});

describe('text', () => {
  test('that does not fit ends in an ellipsis', () => {
    expect(shortened('a long name of something', 60, 12)).toMatch(/^a long.*…$/);
    expect(textWidth(shortened('a long name of something', 60, 12), 12)).toBeLessThanOrEqual(60);
    expect(shortened('short', 60, 12)).toBe('short');
  });

  test('is broken at spaces, and shortened after the last line', () => {
    expect(wrapped('one two three', 50, 12, 3)).toEqual(['one two', 'three']);
    expect(wrapped('one two three four five six', 50, 12, 2)).toEqual(['one two', 'three f…']);
    expect(wrapped('', 50, 12, 2)).toEqual([]);
  });
});
