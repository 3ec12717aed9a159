/** A virtual clock that counts timers and callbacks, to detect polling. */
import { VirtualClock } from 'batchwise';

export class CountingClock extends VirtualClock {
  /** Callbacks of timers and deferred callbacks that ran. */
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
