/** A run, as everything that drives one sees it: the command, the web page, the knee search, the comparison. */
import type { LoadReport, RunState } from '../report/load-report.js';
import type { TargetSpec } from '../targets/target-spec.js';
import type { Traffic } from './traffic.js';

/** A run as plain data, which can be sent to other processes. */
export interface RunSpec {
  /** Requests to one target, or the tasks of a scenario file. */
  readonly work:
    | { readonly kind: 'target'; readonly target: TargetSpec }
    | {
        readonly kind: 'scenario';
        readonly file: string;
        readonly host?: string;
        readonly tags?: readonly string[];
      };
  readonly traffic: Traffic;
  /** @default until it is stopped; a trace, a shape: until its end */
  readonly seconds?: number;
  /** Goodput counts responses within this time of their intended start. */
  readonly targetLatencyMs?: number;
  /** Thresholds that make the run fail: `p99 > 100ms`. */
  readonly failIf?: readonly string[];
  /** @default 1 */
  readonly processes?: number;
  /** Of the arrivals, pauses and choices of tasks. @default 1 */
  readonly seed?: number;
  /**
   * Maximum time for requests in flight to complete when the run is stopped.
   * @default 5
   */
  readonly stopSeconds?: number;
  /** Keeps the intended start of every request, up to 5,000,000, for a trace file. @default false */
  readonly keepArrivals?: boolean;
}

export interface LoadRun {
  readonly state: RunState;
  readonly spec: RunSpec;
  /** The current report. */
  report(): LoadReport;
  /** Intended starts so far, in milliseconds since the start, ascending; empty unless `keepArrivals` is set. */
  readonly arrivals: readonly number[];
  /** Changes the users of a closed model. */
  setUsers(users: number, spawnRate: number): void;
  /** Discards the figures so far, as after a warm-up. The run continues. */
  reset(): void;
  /** Sends no more requests, waits for those in flight, and ends the run. */
  stop(): Promise<void>;
  /**
   * Fulfilled when the run has ended, by itself or by `stop()`. Never rejected: failures of the target are in the
   * report.
   */
  readonly ended: Promise<LoadReport>;
}
