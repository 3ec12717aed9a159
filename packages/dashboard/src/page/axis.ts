/** The horizontal axes of charts: what is plotted against, how it is written, and how much of it is shown. */
import type { Reading } from './reading.js';

export interface Axis<Point> {
  /** Charts with the same key show what lies under the pointer at once. */
  readonly key: string;
  readonly label: string;
  of(point: Point): number;
  text(value: number): string;
  range(first: number, last: number): readonly [from: number, to: number];
}

/** Of a page that was just opened, more room than lines would be seen. */
const LEAST_SECONDS = 60;

/** The page's own clock does not jump; what is shown is the time of day, up to now. */
export const TIME_OF_DAY: Axis<Pick<Reading, 'at'>> = {
  key: 'dashboard',
  label: 'time',
  of: ({ at }) => (performance.timeOrigin + at) / 1000,
  text: clockText,
  range: (first, last) => [Math.min(first, last - LEAST_SECONDS), last],
};

/** Seconds since a run began. */
export const RUN_TIME: Axis<{ readonly second: number }> = {
  key: 'run',
  label: 'time',
  of: ({ second }) => second,
  text: elapsedText,
  range: (first, last) => [first, Math.max(last, first + LEAST_SECONDS)],
};

export const BATCH_SIZE: Axis<{ readonly size: number }> = {
  key: 'batch-size',
  label: 'batch size',
  of: ({ size }) => size,
  text: (size) => (Number.isInteger(size) ? String(size) : ''),
  range: (_, last) => [0, last + 1],
};

/** 14:03:59 */
function clockText(seconds: number): string {
  return new Date(seconds * 1000).toTimeString().slice(0, 8);
}

/** 3:59, 1:03:59 */
function elapsedText(seconds: number): string {
  const whole = Math.floor(seconds);
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const two = (value: number) => String(value).padStart(2, '0');
  const end = two(whole % 60);
  return hours > 0 ? `${hours}:${two(minutes)}:${end}` : `${minutes}:${end}`;
}
