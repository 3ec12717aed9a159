/** A virtual clock with timers as Node's: whole milliseconds, never less than one. What is asked of it is kept. */
import { VirtualClock } from 'batchwise';

export class CoarseClock extends VirtualClock {
  readonly timerResolutionMs = 1;
  readonly asked: number[] = [];

  override setTimer(callback: () => void, delayMs: number): unknown {
    this.asked.push(delayMs);
    return super.setTimer(callback, Math.max(1, Math.ceil(delayMs)));
  }

  /** For the world around the batcher, which has no timers. */
  exactTimer(callback: () => void, delayMs: number): unknown {
    return super.setTimer(callback, delayMs);
  }
}
