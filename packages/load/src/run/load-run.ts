/** A run, as everything that drives one sees it: the command, the web page, the knee search, the comparison. */
import type { LoadReport, RunState } from '../report/load-report.js';
import type { TargetSpec } from '../targets/target-spec.js';
import type { Traffic } from './traffic.js';

/** All of a run as plain data, so that other processes can be sent the same. */
export interface RunSpec {
  /** What is sent: requests to one target, or the tasks of a scenario file. */
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
  /** How long requests in flight may take to end when the run is stopped. @default 5 */
  readonly stopSeconds?: number;
  /** Keeps the intended start of every request, up to 5,000,000, for a trace file. @default false */
  readonly keepArrivals?: boolean;
}

export interface LoadRun {
  readonly state: RunState;
  readonly spec: RunSpec;
  /** As it stands now. */
  report(): LoadReport;
  /** Intended starts so far in milliseconds since the start, rising; none unless the run keeps them. */
  readonly arrivals: readonly number[];
  /** Of a closed model: from now on. */
  setUsers(users: number, spawnRate: number): void;
  /** Discards the figures so far, as after a warm-up: the report begins anew, and the run goes on. */
  reset(): void;
  /** Sends no more, waits for the responses of requests in flight, and ends. */
  stop(): Promise<void>;
  /** Fulfilled when the run has ended, by itself or by `stop()`. Never rejected: a target that dies is in the report. */
  readonly ended: Promise<LoadReport>;
}
