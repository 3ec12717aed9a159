/**
 * Garbage collection of client and backend between two bursts, for figures in which single requests count. Their pauses
 * are not part of the overhead of the proxy, which collects whenever Node does.
 */
import { setTimer } from '@batchwise/bench-harness';

/** The flag of `node`; without it, `collectIn` does nothing. */
export const COLLECTING = ['--expose-gc'];

let isDue = false;

/** Collects young garbage after this time, unless a collection is already scheduled. */
export function collectIn(ms: number): void {
  const { gc } = globalThis;
  if (gc === undefined || isDue) return;
  isDue = true;
  setTimer(() => {
    isDue = false;
    gc({ type: 'minor', execution: 'sync' });
  }, ms);
}
