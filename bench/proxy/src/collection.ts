/**
 * When the processes that measure collect garbage, where single requests count: between two bursts. A pause of the
 * client or the backend says nothing of what is between them, which collects whenever Node does.
 */
import { setTimer } from '@batchwise/bench-harness';

/** For `node`: without it, `collectIn` does nothing. */
export const COLLECTING = ['--expose-gc'];

let isDue = false;

/** Young garbage, after so many milliseconds; one that is due already is enough. */
export function collectIn(ms: number): void {
  const { gc } = globalThis;
  if (gc === undefined || isDue) return;
  isDue = true;
  setTimer(() => {
    isDue = false;
    gc({ type: 'minor', execution: 'sync' });
  }, ms);
}
