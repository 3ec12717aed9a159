/** Scales: from values to pixels, with the range, ticks and tick labels of an axis. */
import { type AxisFormat, logTicks, niceStep, tickLabels, ticksBetween } from './ticks.js';

export interface Axis {
  readonly label: string;
  /** @default 'linear' */
  readonly scale?: 'linear' | 'log';
  /** Range of the axis; values outside are clipped. @default the range of the values */
  readonly min?: number;
  readonly max?: number;
  /** Format of tick labels. @default 'number' */
  readonly format?: AxisFormat;
}

export interface Scale {
  readonly min: number;
  readonly max: number;
  readonly ticks: readonly { readonly at: number; readonly label: string }[];
  /** NaN for values that are not on the scale: not finite, or not positive on a logarithmic scale. */
  toPixel(value: number): number;
}

/** Larger values would overflow in differences, smaller ones underflow in steps. */
const LARGEST = 1e300;
const SMALLEST = 1e-290;

/**
 * A scale for these values, from pixel `from` to pixel `to`. With `rounded` the range is extended to ticks.
 */
export function scaleFor(
  axis: Axis,
  values: Iterable<number>,
  from: number,
  to: number,
  { rounded, pixelsPerTick }: { readonly rounded: boolean; readonly pixelsPerTick: number },
): Scale {
  const isLog = axis.scale === 'log';
  const wantedTicks = Math.max(2, Math.floor(Math.abs(to - from) / pixelsPerTick));
  let [min, max] = spanOf(axis, values, isLog);
  if (rounded) [min, max] = roundedSpan(axis, min, max, wantedTicks, isLog);
  const at = isLog
    ? logTicks(min, max, wantedTicks)
    : ticksBetween(min, max, niceStep(max - min, wantedTicks));
  const labels = tickLabels(at, axis.format ?? 'number');
  const position = isLog ? Math.log : (value: number) => value;
  const start = position(min);
  const perUnit = (to - from) / (position(max) - start);
  return {
    min,
    max,
    ticks: at.map((value, i) => ({ at: value, label: labels[i] as string })),
    toPixel(value) {
      const pixel = from + (position(value) - start) * perUnit;
      return Number.isFinite(pixel) ? pixel : Number.NaN;
    },
  };
}

function isPlottable(value: number, isLog: boolean): boolean {
  return Math.abs(value) <= LARGEST && (!isLog || value >= SMALLEST);
}

/** Never empty, and wide enough that steps within it are not lost in rounding. */
function spanOf(axis: Axis, values: Iterable<number>, isLog: boolean): [number, number] {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (!isPlottable(value, isLog)) continue;
    min = Math.min(min, value);
    max = Math.max(max, value);
  }
  if (axis.min !== undefined && isPlottable(axis.min, isLog)) min = axis.min;
  if (axis.max !== undefined && isPlottable(axis.max, isLog)) max = axis.max;
  if (min === Number.POSITIVE_INFINITY) min = Math.min(max, isLog ? 1 : 0);
  if (max === Number.NEGATIVE_INFINITY) max = Math.max(min, 1);
  if (!Number.isFinite(min)) return isLog ? [1, 10] : [0, 1];
  const isNarrow = max - min <= SMALLEST || max - min <= 1e-9 * Math.max(Math.abs(min), Math.abs(max));
  if (!isNarrow) return [min, max];
  if (isLog) return [min / 2, min * 2];
  if (Math.abs(min) < SMALLEST) return [0, 1];
  return min > 0 ? [0, min * 1.2] : [min * 1.2, 0];
}

function roundedSpan(
  axis: Axis,
  min: number,
  max: number,
  wantedTicks: number,
  isLog: boolean,
): [number, number] {
  let [low, high] = [min, max];
  if (isLog) {
    low = roundDown(min);
    high = -roundDown(-max);
  } else {
    // Starts at 0, unless the values vary little: an axis that starts above 0 exaggerates differences.
    if (low > 0 && low < 0.7 * high) low = 0;
    if (high < 0 && high > 0.7 * low) high = 0;
    const step = niceStep(high - low, wantedTicks);
    low = Math.floor(low / step + 1e-9) * step;
    high = Math.ceil(high / step - 1e-9) * step;
  }
  // A given end stays, unless the range was empty with it.
  return [min === axis.min ? min : low, max === axis.max ? max : high];
}

/** Rounded down to 1, 2 or 5 times a power of ten; for a negative value the magnitude is rounded up. */
function roundDown(value: number): number {
  const magnitude = Math.abs(value);
  const power = 10 ** Math.floor(Math.log10(magnitude) + 1e-9);
  const digit = magnitude / power;
  if (value > 0) return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
  return -power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}
