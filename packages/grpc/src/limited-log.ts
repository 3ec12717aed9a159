import type { Clock } from 'batchwise';

const LINES = 20;
const PERIOD_MS = 10_000;

/** Passes lines on, but no more than a few in a while: whoever attacks a server shall not fill its disk. */
export function limitedLog(clock: Clock, log: (line: string) => void): (line: string) => void {
  let periodEnd = Number.NEGATIVE_INFINITY;
  let lines = 0;
  return (line) => {
    const now = clock.now();
    if (now >= periodEnd) {
      if (lines > LINES) log(`${lines - LINES} further lines were left out`);
      periodEnd = now + PERIOD_MS;
      lines = 0;
    }
    lines++;
    if (lines <= LINES) log(line);
  };
}
