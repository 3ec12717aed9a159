/** The backends of the grid. */
import { readFileSync } from 'node:fs';
import { type Curve, formulaCurve, type MeasuredPoint, monotone, tableCurve } from '../simulation/curve.js';

/** Of each size, how long batches took. */
type MeasuredSizes = Record<string, { readonly p50_ms: number }>;

export const FORMULA_CURVES: readonly Curve[] = [
  formulaCurve('a', 64, (b) => 5 + 0.1 * b),
  formulaCurve('b', 200, (b) => 11 + 0.01 * b),
  formulaCurve('c', 32, (b) => 1 + 0.8 * b),
  formulaCurve('d', 64, (b) => 2 + 0.25 * 2 ** Math.ceil(Math.log2(b))),
  formulaCurve('concave', 64, (b) => 1 + 2 * Math.sqrt(b)),
  formulaCurve('eights', 64, (b) => 3 + 1.2 * Math.ceil(b / 8)),
];

/** Models on an H200, as measured. */
export const GPU_CURVES: readonly Curve[] = Object.entries(stored('h200.json')).map(([name, sizes]) =>
  tableCurve(name.replace(/_fp16_eager_h200$/, ''), monotone(pointsOf(sizes))),
);

/** The digits model on two cores of a CPU, as measured. */
export const CPU_CURVES: readonly Curve[] = Object.entries(stored('digits-cpu.json')).map(([name, sizes]) =>
  tableCurve(name, monotone(pointsOf(sizes))),
);

export const GRID_CURVES: readonly Curve[] = [...FORMULA_CURVES, ...GPU_CURVES, ...CPU_CURVES];

export function gridCurve(name: string): Curve {
  const curve = GRID_CURVES.find((candidate) => candidate.name === name);
  if (curve === undefined) throw new RangeError(`There is no curve ${name} in the grid.`);
  return curve;
}

function stored(file: string): Record<string, MeasuredSizes> {
  return JSON.parse(readFileSync(new URL(`../../curves/${file}`, import.meta.url), 'utf8'));
}

function pointsOf(sizes: MeasuredSizes): MeasuredPoint[] {
  return Object.entries(sizes).map(([size, { p50_ms: ms }]) => ({ size: Number(size), ms }));
}
