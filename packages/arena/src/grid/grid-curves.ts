/** The service curves of the grid. */
import { readFileSync } from 'node:fs';
import { type Curve, formulaCurve, type MeasuredPoint, monotone, tableCurve } from '../simulation/curve.js';

/** Measured durations by batch size. */
type MeasuredSizes = Record<string, { readonly p50_ms: number }>;

const FORMULA_CURVES: readonly Curve[] = [
  formulaCurve('a', 64, (b) => 5 + 0.1 * b),
  formulaCurve('b', 200, (b) => 11 + 0.01 * b),
  formulaCurve('c', 32, (b) => 1 + 0.8 * b),
  formulaCurve('d', 64, (b) => 2 + 0.25 * 2 ** Math.ceil(Math.log2(b))),
  formulaCurve('concave', 64, (b) => 1 + 2 * Math.sqrt(b)),
  formulaCurve('eights', 64, (b) => 3 + 1.2 * Math.ceil(b / 8)),
];

/** Models measured on an H200. */
const GPU_CURVES: readonly Curve[] = Object.entries(stored('h200.json')).map(([name, sizes]) =>
  tableCurve(name.replace(/_fp16_eager_h200$/, ''), monotone(pointsOf(sizes))),
);

/** The digits model, measured on two CPU cores. */
const CPU_CURVES: readonly Curve[] = Object.entries(stored('digits-cpu.json')).map(([name, sizes]) =>
  tableCurve(name, monotone(pointsOf(sizes))),
);

export const GRID_CURVES: readonly Curve[] = [...FORMULA_CURVES, ...GPU_CURVES, ...CPU_CURVES];

/**
 * Curves that were never used for tuning: they show whether the rules of a policy hold in general. Use them to check,
 * never to choose a constant.
 */
export const HOLD_OUT_CURVES: readonly Curve[] = [
  // More than twice the cost per item from the 17th on.
  formulaCurve('knee', 48, (b) => 3 + 0.4 * Math.min(b, 16) + 0.9 * Math.max(0, b - 16)),
  // Steps that are not powers of two.
  formulaCurve('fives', 40, (b) => 2 + 1.5 * Math.ceil(b / 5)),
  // Like a measurement: flat, a jump, a slope.
  tableCurve('rough', [
    { size: 1, ms: 4.1 },
    { size: 2, ms: 4.3 },
    { size: 4, ms: 4.4 },
    { size: 8, ms: 4.9 },
    { size: 16, ms: 5.2 },
    { size: 32, ms: 7.9 },
    { size: 48, ms: 9.1 },
    { size: 64, ms: 13.6 },
    { size: 96, ms: 17.8 },
  ]),
  // The best size is far below the maximum.
  formulaCurve('worse past 24', 40, (b) => 2 + 0.3 * Math.min(b, 24) + 1.2 * Math.max(0, b - 24)),
  // One large step.
  formulaCurve('two floors', 100, (b) => (b <= 32 ? 6 : 14)),
  // Hardly any gain from batching.
  formulaCurve('steep', 16, (b) => 0.4 + 1.5 * b),
];

export function gridCurve(name: string): Curve {
  const curve = [...GRID_CURVES, ...HOLD_OUT_CURVES].find((candidate) => candidate.name === name);
  if (curve === undefined) throw new RangeError(`There is no curve ${name} in the grid.`);
  return curve;
}

function stored(file: string): Record<string, MeasuredSizes> {
  return JSON.parse(readFileSync(new URL(`../../curves/${file}`, import.meta.url), 'utf8'));
}

function pointsOf(sizes: MeasuredSizes): MeasuredPoint[] {
  return Object.entries(sizes).map(([size, { p50_ms: ms }]) => ({ size: Number(size), ms }));
}
