/** A clock whose timers never fire, for tests that something happens without a timer. */
import { type Clock, realClock } from 'batchwise';

export class StillClock implements Clock {
  now(): number {
    return realClock.now();
  }

  setTimer(): unknown {
    return {};
  }

  clearTimer(): void {}

  defer(callback: () => void): void {
    realClock.defer(callback);
  }
}
