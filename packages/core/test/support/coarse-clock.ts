/** A virtual clock with the timers of Node: whole milliseconds, at least one. It records the requested delays. */
import { VirtualClock } from 'batchwise';

export class CoarseClock extends VirtualClock {
  readonly timerResolutionMs = 1;
  readonly delaysMs: number[] = [];

  override setTimer(callback: () => void, delayMs: number): unknown {
    this.delaysMs.push(delayMs);
    return super.setTimer(callback, Math.max(1, Math.ceil(delayMs)));
  }

  /** An exact timer, for the backend and the callers. */
  exactTimer(callback: () => void, delayMs: number): unknown {
    return super.setTimer(callback, delayMs);
  }
}
