/** The arrivals of a run as a trace file: for `batchwise plan --trace`, `batchwise arena --scenario` and replay. */
import { LoadError } from '../load-error.js';
import { MOST_ARRIVALS } from '../statistics/statistics.js';

/**
 * @param timesMs intended starts since the start of the run, in any order.
 * @throws {LoadError} INVALID_OPTION: no arrivals, too many arrivals, or an invalid time
 */
export function traceText(timesMs: readonly number[]): string {
  if (timesMs.length === 0)
    throw new LoadError('INVALID_OPTION', 'trace: expected at least one arrival, got none.');
  if (timesMs.length > MOST_ARRIVALS) {
    const most = `at most ${MOST_ARRIVALS} arrivals`;
    throw new LoadError('INVALID_OPTION', `trace: expected ${most}, got ${timesMs.length}.`);
  }
  const sorted = Float64Array.from(timesMs).sort();
  const first = sorted[0] as number;
  if (!(first >= 0 && Number.isFinite(sorted.at(-1)))) {
    throw new LoadError('INVALID_OPTION', 'trace: expected times from 0 ms on.');
  }
  const lines = ['time_ms'];
  for (const ms of sorted) lines.push(String(Math.round(ms * 1000) / 1000));
  return `${lines.join('\n')}\n`;
}
