/** Contrast of the colours, also with colour blindness. */
import { describe, expect, test } from 'vitest';
import { PLOT_STYLE, SERIES_COLOURS } from '../src/plot/look.js';

type Rgb = readonly [number, number, number];

/** Simulation of colour blindness (Machado, Oliveira and Fernandes, 2009), in linear light. */
const VISION: Readonly<Record<string, readonly number[]>> = {
  'all three kinds of cone': [1, 0, 0, 0, 1, 0, 0, 0, 1],
  'no red cones': [
    0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998,
  ],
  'no green cones': [
    0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881,
  ],
  'no blue cones': [
    1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039,
  ],
};

/** Minimum distance in OKLab. The palette of Okabe and Ito has 0.076. */
const MIN_DISTANCE = 0.075;
/** WCAG 2.1, 1.4.11. */
const MIN_CONTRAST = 3;

const schemes = [
  ['light', '#ffffff'],
  ['dark', '#15191f'],
] as const;

describe.each(schemes)('on a %s background', (scheme, paper) => {
  const colours = SERIES_COLOURS.map((colour) => colour[scheme]);

  test('every line has enough contrast', () => {
    for (const colour of colours) expect(contrast(colour, paper)).toBeGreaterThanOrEqual(MIN_CONTRAST);
  });

  test.each(Object.keys(VISION))('lines are distinguishable with %s', (vision) => {
    for (const [i, a] of colours.entries()) {
      for (const b of colours.slice(0, i)) {
        expect(distance(a, b, VISION[vision] as readonly number[]), `${a} and ${b}`).toBeGreaterThan(
          MIN_DISTANCE,
        );
      }
    }
  });
});

test('a page may set each colour', () => {
  for (const name of ['ink', 'soft', 'grid', 'paper', ...SERIES_COLOURS.map((_, i) => `series-${i + 1}`)]) {
    expect(PLOT_STYLE).toContain(`.plot-${name}{color:var(--plot-${name},#`);
  }
});

function linear(hex: string): Rgb {
  const channel = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function contrast(a: string, b: string): number {
  const light = (hex: string) => {
    const [red, green, blue] = linear(hex);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  return Math.max(light(a), light(b)) / Math.min(light(a), light(b));
}

function distance(a: string, b: string, vision: readonly number[]): number {
  const [one, two] = [oklab(seen(linear(a), vision)), oklab(seen(linear(b), vision))];
  return Math.hypot(one[0] - two[0], one[1] - two[1], one[2] - two[2]);
}

function seen(colour: Rgb, vision: readonly number[]): Rgb {
  return times(vision, colour).map((value) => Math.min(1, Math.max(0, value))) as unknown as Rgb;
}

function oklab(colour: Rgb): Rgb {
  const cones = times(
    [
      0.4122214708, 0.5363325363, 0.0514459929, 0.2119034982, 0.6806995451, 0.1073969566, 0.0883024619,
      0.2817188376, 0.6299787005,
    ],
    colour,
  );
  return times(
    [
      0.2104542553, 0.793617785, -0.0040720468, 1.9779984951, -2.428592205, 0.4505937099, 0.0259040371,
      0.7827717662, -0.808675766,
    ],
    cones.map(Math.cbrt) as unknown as Rgb,
  );
}

function times(matrix: readonly number[], [x, y, z]: Rgb): Rgb {
  const row = (i: number) =>
    (matrix[i] as number) * x + (matrix[i + 1] as number) * y + (matrix[i + 2] as number) * z;
  return [row(0), row(3), row(6)];
}
