/** For how long the garbage collector has stopped the thread. What it does on other threads is not in it. */
import { PerformanceObserver } from 'node:perf_hooks';
import { nowMs } from '../stopwatch.js';

export class CollectorWatch {
  #since = nowMs();
  #totalMs = 0;

  constructor() {
    const observer = new PerformanceObserver((list) => {
      for (const { startTime, duration } of list.getEntries()) {
        if (startTime >= this.#since) this.#totalMs += duration;
      }
    });
    observer.observe({ entryTypes: ['gc'] });
  }

  /** Counts from now on. */
  reset(): void {
    this.#since = nowMs();
    this.#totalMs = 0;
  }

  async total(): Promise<number> {
    // Pauses are reported a turn or two of the event loop after they happened.
    for (let i = 0; i < 3; i++) await new Promise(setImmediate);
    this.#since = Number.POSITIVE_INFINITY;
    return this.#totalMs;
  }
}
