/**
 * What the server of the load page says once a second. The modules of a page import nothing of other packages, so
 * the part of a report that the page shows is described here; the server is compiled against it.
 */

/** `starting`: the target is being checked, and no request has been sent. */
export type LoadPageRunState = 'ready' | 'starting' | 'running' | 'stopping' | 'ended';

export interface LoadPageState {
  /** Rises with each run, and when the figures of one are discarded; 0 before the first. */
  readonly run: number;
  readonly state: LoadPageRunState;
  /** What the start form shows at first. */
  readonly setup: LoadSetup;
  /** Undefined where there is no run. Its series begins at the second that was asked for. */
  readonly report?: LoadPageReport;
  /** Reasons beyond the most frequent ones, which the report leaves out. */
  readonly failuresLeftOut: number;
}

export interface LoadSetup {
  readonly work:
    | { readonly kind: 'target'; readonly url: string }
    | { readonly kind: 'scenario'; readonly file: string; readonly host?: string };
  readonly traffic: LoadSetupTraffic;
  readonly seconds?: number;
  readonly targetLatencyMs?: number;
}

export type LoadSetupTraffic =
  | {
      readonly kind: 'users';
      readonly users: number;
      readonly spawnRate: number;
      readonly waitTime: LoadSetupWaitTime;
    }
  | { readonly kind: 'arrivals'; readonly schedule: LoadSetupSchedule; readonly maxInFlight: number };

export type LoadSetupWaitTime =
  | { readonly kind: 'between'; readonly min: number; readonly max: number }
  | { readonly kind: 'constant' | 'pacing'; readonly seconds: number };

export type LoadSetupSchedule =
  | { readonly kind: 'constant' | 'poisson'; readonly perSecond: number }
  | { readonly kind: 'gamma'; readonly perSecond: number; readonly variation: number }
  | {
      readonly kind: 'steps';
      readonly steps: readonly { readonly perSecond: number; readonly seconds: number }[];
    }
  | { readonly kind: 'ramp'; readonly from: number; readonly to: number; readonly seconds: number }
  /** The arrivals themselves stay at the server. */
  | { readonly kind: 'trace'; readonly name: string };

export interface LoadPageReport {
  readonly startedAt: string;
  readonly seconds: number;
  readonly target: string;
  readonly traffic:
    | {
        readonly kind: 'users';
        readonly users: number;
        readonly spawnRate: number;
        readonly waitTime: string;
      }
    | { readonly kind: 'arrivals'; readonly text: string };
  readonly targetLatencyMs?: number;
  readonly total: LoadPageRequests;
  readonly requests: readonly LoadPageRequests[];
  readonly series: readonly LoadPagePoint[];
  readonly failures: readonly LoadPageFailure[];
  readonly batchSizes: readonly LoadPageBatchSize[];
  readonly generator: { readonly processes: number };
  readonly warnings: readonly string[];
  readonly verdicts: readonly {
    readonly rule: string;
    /** With its unit. */
    readonly value: string;
    readonly isBroken: boolean;
  }[];
}

export interface LoadPageLatencies {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export interface LoadPageRequests {
  readonly name: string;
  readonly count: number;
  readonly ok: number;
  readonly rejected: number;
  readonly failed: number;
  readonly good: number;
  readonly perSecond: number;
  readonly goodPerSecond: number;
  readonly failedPerSecond: number;
  readonly meanResponseBytes: number;
  readonly latency: LoadPageLatencies;
  readonly intended: LoadPageLatencies;
  readonly split?: {
    readonly network: LoadPageLatencies;
    readonly queue: LoadPageLatencies;
    readonly compute: LoadPageLatencies;
  };
  readonly meanBatchSize?: number;
}

export interface LoadPagePoint {
  readonly second: number;
  readonly users: number;
  readonly inFlight: number;
  readonly ok: number;
  readonly rejected: number;
  readonly failed: number;
  readonly good: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
  readonly intendedP99Ms: number;
  readonly meanBatchSize?: number;
  readonly networkMs?: number;
  readonly queueMs?: number;
  readonly computeMs?: number;
  readonly arrivals: { readonly due: number; readonly notSent: number };
  readonly cpuShare: number;
}

export interface LoadPageFailure {
  readonly name: string;
  readonly kind: 'rejected' | 'failed';
  readonly reason: string;
  readonly count: number;
}

export interface LoadPageBatchSize {
  readonly size: number;
  readonly requests: number;
  readonly latencyMs: number;
  readonly queueMs: number;
  readonly computeMs: number;
}
