/** Number formats, the same in all figures. */
import { medianOf } from '@batchwise/bench-harness';

/** 1234567 per second: `1.23 M/s`. */
export function rate(perSecond: readonly number[]): string {
  const median = medianOf(perSecond);
  if (median >= 1e6) return `${(median / 1e6).toFixed(2)} M/s`;
  return median >= 1e4 ? `${(median / 1e3).toFixed(0)} k/s` : `${median.toFixed(0)} /s`;
}

export function ns(samples: readonly number[]): string {
  return `${medianOf(samples).toFixed(0)} ns`;
}

export function count(value: number): string {
  return value.toLocaleString('en');
}
