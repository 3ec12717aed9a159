/** The values of a line chart as a text alternative and as data for a script. */
import type { Box } from './clipped-line.js';
import type { LineChartSpec, Series } from './line-chart.js';
import { seriesColour } from './look.js';
import type { Scale } from './scale.js';
import { type AxisFormat, percentileLabel, precise, readable } from './ticks.js';

export function describeLines({ x, y, series }: LineChartSpec): string {
  const intro = `${y.label} against ${x.label}.`;
  const each = series.map(({ name, points }) => {
    const finite = points.filter((point) => point.every(Number.isFinite));
    const [first, last] = [finite[0], finite.at(-1)];
    if (first === undefined || last === undefined) return `${name}: no values.`;
    if (finite.length === 1) return `${name}: ${readable(first[1])} at ${readable(first[0])}.`;
    return `${name}: from ${readable(first[1])} at ${readable(first[0])} to ${readable(last[1])} at ${readable(last[0])}.`;
  });
  return [intro, ...each].join(' ');
}

/**
 * JSON: the box; name and class of each line; and per x value its pixel, its label, and the pixel and label of the
 * value of each line (null where there is none).
 */
export function readoutOf(spec: LineChartSpec, { x, y, box }: { x: Scale; y: Scale; box: Box }): string {
  const places = [...new Set(spec.series.flatMap(({ points }) => points.map((point) => point[0])))]
    .filter((place) => x.toPixel(place) >= box.left - 0.01 && x.toPixel(place) <= box.right + 0.01)
    .sort((a, b) => a - b);
  return JSON.stringify({
    box: [box.left, box.top, box.right, box.bottom].map(Math.round),
    x: spec.x.label,
    series: spec.series.map(({ name, look }, i) => [name, seriesColour(look ?? i).class]),
    at: places.map((place) => [
      rounded(x.toPixel(place)),
      placeLabel(place, spec.x.format),
      spec.series.map((series) => valueAt(series, place, spec, y, box)),
    ]),
  });
}

function valueAt(
  { points }: Series,
  place: number,
  spec: LineChartSpec,
  y: Scale,
  box: Box,
): [pixel: number, label: string] | null {
  const value = points.find((point) => point[0] === place)?.[1];
  if (value === undefined || !Number.isFinite(value)) return null;
  const pixel = y.toPixel(value);
  if (!Number.isFinite(pixel)) return null;
  return [rounded(Math.min(Math.max(pixel, box.top), box.bottom)), written(value, spec.y.format)];
}

function placeLabel(place: number, format: AxisFormat = 'number'): string {
  if (format === 'percentile') return percentileLabel(place);
  return format === 'percent' ? `${readable(place * 100)} %` : readable(place);
}

function written(value: number, format: AxisFormat = 'number'): string {
  if (format === 'percentile') return percentileLabel(value);
  return format === 'percent' ? `${(value * 100).toFixed(1)} %` : precise(value);
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
