/** The time of garbage-collection pauses of this thread, without concurrent work on other threads. */
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

  /** Starts counting now. */
  reset(): void {
    this.#since = nowMs();
    this.#totalMs = 0;
  }

  async total(): Promise<number> {
    // Pauses are reported one or two turns of the event loop later.
    for (let i = 0; i < 3; i++) await new Promise(setImmediate);
    this.#since = Number.POSITIVE_INFINITY;
    return this.#totalMs;
  }
}
