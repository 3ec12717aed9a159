/** Recorded arrivals, stretched to any rate and repeated for as long as they are needed. */
import { readFileSync } from 'node:fs';
import { parseTrace } from '../files/trace-file.js';
import type { OpenArrivals } from '../simulation/arrivals.js';

const FILE = new URL('../../fixtures/two-days.csv', import.meta.url);

let recordedMs: readonly number[] | undefined;

export function gridTrace(perMs: number): OpenArrivals {
  recordedMs ??= parseTrace(readFileSync(FILE, 'utf8'), 'two-days.csv').timesMs;
  const times = recordedMs;
  // One a millisecond on average: the end of the last gap is the beginning of the next round.
  const roundMs = times.length;
  return {
    kind: 'open',
    name: 'trace',
    times: () => {
      let next = 0;
      return () => {
        const round = Math.floor(next / times.length);
        const at = round * roundMs + (times[next % times.length] as number);
        next += 1;
        return at / perMs;
      };
    },
  };
}
