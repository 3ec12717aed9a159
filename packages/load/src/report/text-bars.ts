/** Bars and curves of block characters. */

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
const HEIGHTS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** A share of the width, to an eighth of a character. Whatever is above 0 is seen. */
export function bar(share: number, width: number): string {
  const eighths = share > 0 ? Math.max(1, Math.round(Math.min(1, share) * width * 8)) : 0;
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] as string);
}

/** The last values that fit, from 0 to the largest of them. */
export function sparkline(values: readonly number[], width: number): string {
  const shown = width <= 0 ? [] : values.slice(-width);
  const most = Math.max(...shown, 0);
  return shown
    .map((value) => (value <= 0 ? ' ' : (HEIGHTS[Math.min(7, Math.floor((value / most) * 8))] as string)))
    .join('');
}
