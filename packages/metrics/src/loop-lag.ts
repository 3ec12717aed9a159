/**
 * How late the event loop is: the time that something that is due waits for what runs. Shown over the past
 * ten seconds or so however often it is asked for, so that those who ask do not take it from each other.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Clock, realClock } from 'batchwise';

export interface Lag {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** As much of Node's monitor as is used. In nanoseconds. */
export interface DelayMonitor {
  readonly count: number;
  readonly max: number;
  percentile(percentile: number): number;
  reset(): void;
  disable(): unknown;
}

/** How often the monitor looks; on an idle loop that is what it measures. */
const EVERY_MS = 20;
/** From when on what was measured is set aside and measuring begins anew. */
const WINDOW_MS = 10_000;
const NONE: Lag = { p50: 0, p99: 0, max: 0 };

export class LoopLag {
  readonly #monitor: DelayMonitor;
  readonly #clock: Clock;
  #since: number;
  #before = NONE;

  constructor(monitor: DelayMonitor = startMonitor(), clock: Clock = realClock) {
    this.#monitor = monitor;
    this.#clock = clock;
    this.#since = clock.now();
  }

  /** In seconds: the worse of this window and the one before. */
  read(): Lag {
    const before = this.#before;
    const current = this.#measured();
    const now = this.#clock.now();
    if (now - this.#since >= WINDOW_MS) {
      this.#before = current;
      this.#since = now;
      this.#monitor.reset();
    }
    return {
      p50: Math.max(before.p50, current.p50),
      p99: Math.max(before.p99, current.p99),
      max: Math.max(before.max, current.max),
    };
  }

  stop(): void {
    this.#monitor.disable();
  }

  #measured(): Lag {
    const monitor = this.#monitor;
    if (monitor.count === 0) return NONE;
    return {
      p50: lateness(monitor.percentile(50)),
      p99: lateness(monitor.percentile(99)),
      max: lateness(monitor.max),
    };
  }
}

function startMonitor(): DelayMonitor {
  const monitor = monitorEventLoopDelay({ resolution: EVERY_MS });
  monitor.enable();
  return monitor;
}

function lateness(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - EVERY_MS / 1000);
}
