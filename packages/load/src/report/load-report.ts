/**
 * What a run came to, as plain data: every output is made of it (terminal, JSON, CSV, HTML, the web page), while the
 * run goes on and when it has ended. Times are in milliseconds.
 */
import type { Percentiles } from '../statistics/histogram.js';
import type { SeriesPoint } from '../statistics/statistics.js';

export type RunState = 'ready' | 'running' | 'stopping' | 'ended';

/** The requested traffic. */
export type TrafficFacts =
  | { readonly kind: 'users'; readonly users: number; readonly spawnRate: number; readonly waitTime: string }
  | {
      readonly kind: 'arrivals';
      /** `poisson 800/s`, `ramp 100/s to 900/s`, `trace requests.csv`. */
      readonly text: string;
      /** Mean over the run; undefined for a trace that has not been played to its end. */
      readonly perSecond?: number;
    };

export interface RequestFigures {
  readonly name: string;
  readonly count: number;
  readonly ok: number;
  readonly rejected: number;
  readonly failed: number;
  /** Ok within the target latency, from the intended start. */
  readonly good: number;
  readonly perSecond: number;
  readonly goodPerSecond: number;
  readonly failedPerSecond: number;
  readonly meanResponseBytes: number;
  /** Of requests that are ok, from the actual start. */
  readonly latency: Percentiles;
  /** Of requests that are ok, from the intended start: without coordinated omission. */
  readonly intended: Percentiles;
  /** Of rejected and failed requests. */
  readonly others: Percentiles;
  /** Of responses with the headers; undefined without any. */
  readonly split?: {
    readonly network: Percentiles;
    readonly queue: Percentiles;
    readonly compute: Percentiles;
  };
  readonly meanBatchSize?: number;
}

export interface FailureFigures {
  readonly name: string;
  readonly kind: 'rejected' | 'failed';
  readonly reason: string;
  readonly count: number;
}

export interface BatchSizeFigures {
  readonly size: number;
  readonly requests: number;
  readonly latencyMs: number;
  readonly queueMs: number;
  readonly computeMs: number;
}

export interface ArrivalFigures {
  readonly due: number;
  readonly sent: number;
  readonly notSent: number;
  readonly requestedPerSecond: number;
  readonly achievedPerSecond: number;
  /** Whether the achieved rate is within 1 % of the requested rate. */
  readonly isKept: boolean;
}

/** Load of the generator: a generator that is short of CPU measures its own delays. */
export interface GeneratorFigures {
  readonly processes: number;
  /** Of the busiest second and on average, as a share of one core per process. */
  readonly meanCpuShare: number;
  readonly maxCpuShare: number;
  readonly maxEventLoopMs: number;
}

export interface Verdict {
  /** As given: `p99 > 100ms`. */
  readonly rule: string;
  readonly value: number;
  /** True when the rule applies: the run fails. */
  readonly isBroken: boolean;
}

export interface LoadReport {
  readonly version: 1;
  readonly state: RunState;
  readonly startedAt: string;
  readonly seconds: number;
  /** The target: a URL, or the name of a scenario file. */
  readonly target: string;
  readonly traffic: TrafficFacts;
  readonly targetLatencyMs?: number;
  readonly total: RequestFigures;
  readonly requests: readonly RequestFigures[];
  readonly series: readonly SeriesPoint[];
  /** Most frequent first. */
  readonly failures: readonly FailureFigures[];
  /** Ascending by size. */
  readonly batchSizes: readonly BatchSizeFigures[];
  /** Of arrival rates only. */
  readonly arrivals?: ArrivalFigures;
  readonly generator: GeneratorFigures;
  /** Reasons to doubt the figures: a busy generator, a rate that was not achieved. */
  readonly warnings: readonly string[];
  readonly verdicts: readonly Verdict[];
}
