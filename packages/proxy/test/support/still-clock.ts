/** Time passes, and no timer ever fires: whatever happens all the same did not wait for one. */
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
