/**
 * The event-loop lag: how long due callbacks wait for running code. It covers the last ten seconds or more, however
 * often it is read, so that several readers do not affect each other.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { type Clock, realClock } from 'batchwise';

export interface Lag {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** The part of Node's monitor that is used. In nanoseconds. */
export interface DelayMonitor {
  readonly count: number;
  readonly max: number;
  percentile(percentile: number): number;
  reset(): void;
  disable(): unknown;
}

/** The sampling interval of the monitor, which is also its result on an idle loop. */
const RESOLUTION_MS = 20;
/** The length of a window. Then the values are kept as the previous window, and the monitor is reset. */
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

  /** In seconds: the maximum of the current and the previous window. */
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
      p50: lagSeconds(monitor.percentile(50)),
      p99: lagSeconds(monitor.percentile(99)),
      max: lagSeconds(monitor.max),
    };
  }
}

function startMonitor(): DelayMonitor {
  const monitor = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  monitor.enable();
  return monitor;
}

function lagSeconds(nanoseconds: number): number {
  return Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1000);
}
