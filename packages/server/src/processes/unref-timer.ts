import type { Clock } from 'batchwise';

/** A timer that does not keep the process alive, where the clock's timers are those of Node. */
export function setUnrefTimer(clock: Clock, callback: () => void, delayMs: number): unknown {
  const timer = clock.setTimer(callback, delayMs);
  (timer as { unref?: () => void } | undefined)?.unref?.();
  return timer;
}
