/** A virtual clock that counts what is asked of it: how polling would be seen. */
import { VirtualClock } from 'batchwise';

export class CountingClock extends VirtualClock {
  /** Callbacks that ran, of timers and of turns. */
  callbacks = 0;
  timersSet = 0;
  mostTimersAtOnce = 0;

  override setTimer(callback: () => void, delayMs: number): unknown {
    this.timersSet += 1;
    const timer = super.setTimer(() => {
      this.callbacks += 1;
      callback();
    }, delayMs);
    this.mostTimersAtOnce = Math.max(this.mostTimersAtOnce, this.pendingTimers);
    return timer;
  }

  override defer(callback: () => void): void {
    super.defer(() => {
      this.callbacks += 1;
      callback();
    });
  }
}
