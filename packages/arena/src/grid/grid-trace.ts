/** Recorded arrivals, scaled to any rate and repeated indefinitely. */
import { readFileSync } from 'node:fs';
import { parseTrace } from '../files/trace-file.js';
import type { OpenArrivals } from '../simulation/arrivals.js';

const FILE = new URL('../../fixtures/two-days.csv', import.meta.url);

let recordedMs: readonly number[] | undefined;

export function gridTrace(perMs: number): OpenArrivals {
  recordedMs ??= parseTrace(readFileSync(FILE, 'utf8'), 'two-days.csv').timesMs;
  const times = recordedMs;
  // The mean rate is 1 per millisecond, so the recording is repeated after as many milliseconds as it has items.
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
