import type { Clock } from 'batchwise';

/** Waits until it is resumed or the signal fires. `begin` may return a timer, which is cleared at the end. */
export function pause(
  clock: Clock,
  signal: AbortSignal,
  begin: (resume: () => void) => unknown,
): Promise<void> {
  return new Promise((resolve) => {
    let timer: unknown;
    const resume = () => {
      clock.clearTimer(timer);
      signal.removeEventListener('abort', resume);
      resolve();
    };
    signal.addEventListener('abort', resume);
    timer = begin(resume);
    if (signal.aborted) resume();
  });
}
