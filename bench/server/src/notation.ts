/** Numbers in words, the same in all figures. */
import { summaryOf } from '@batchwise/bench-harness';

/** `1.25 (1.20–1.31)` */
export function spreadText(samples: readonly number[], digits = 2): string {
  const { median, min, max } = summaryOf(samples);
  return `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`;
}
