/** How busy the generator itself is: a generator that is short of CPU measures itself. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { Gauges } from '../statistics/interval.js';

export type OwnGauges = Pick<Gauges, 'cpuShare' | 'eventLoopMs'>;

const RESOLUTION_MS = 10;

/** CPU time over a shorter time than this is mostly rounding: the share of the last second is kept. */
const SHORTEST_MS = 200;

export class SelfMonitor {
  readonly #delays: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  #cpu = process.cpuUsage();
  #takenAt: number;
  #cpuShare = 0;

  constructor(now: number) {
    this.#takenAt = now;
    this.#delays.enable();
  }

  /** Since the last call. */
  take(now: number): OwnGauges {
    const elapsedMs = now - this.#takenAt;
    if (elapsedMs >= SHORTEST_MS) {
      const { user, system } = process.cpuUsage(this.#cpu);
      this.#cpuShare = (user + system) / 1000 / elapsedMs;
      this.#cpu = process.cpuUsage();
      this.#takenAt = now;
    }
    // The histogram has the times between two of its timers: a timer that is on time has the resolution itself.
    const eventLoopMs = this.#delays.count === 0 ? 0 : Math.max(0, this.#delays.max / 1e6 - RESOLUTION_MS);
    this.#delays.reset();
    return { cpuShare: this.#cpuShare, eventLoopMs };
  }

  close(): void {
    this.#delays.disable();
  }
}
