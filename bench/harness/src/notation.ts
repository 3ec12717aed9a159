/** Numbers in words, the same in all figures. */
import { medianOf, summaryOf } from './statistics.js';

export function medianText(samples: readonly number[], digits: number): string {
  return written(medianOf(samples), digits);
}

/** `20.1–22.4`; nothing for a single sample. */
export function spreadText(samples: readonly number[], digits: number): string {
  const { min, max } = summaryOf(samples);
  return samples.length > 1 ? `${written(min, digits)}–${written(max, digits)}` : '';
}

function written(value: number, digits: number): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
