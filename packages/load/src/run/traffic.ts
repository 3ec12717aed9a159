/** When requests are sent, as plain data. */

/** How long a user pauses between two tasks, in seconds. */
export type WaitTime =
  | { readonly kind: 'between'; readonly min: number; readonly max: number }
  | { readonly kind: 'constant'; readonly seconds: number }
  /** A task starts at a fixed interval; after a longer task, the next one starts at once. */
  | { readonly kind: 'pacing'; readonly seconds: number };

/** A closed model: each user sends its next request when it has the response to its last one, after a pause. */
export interface UsersTraffic {
  readonly kind: 'users';
  readonly users: number;
  /** Users that are started (or stopped, when there are too many) per second. */
  readonly spawnRate: number;
  /** Overridden by the wait times of a scenario. */
  readonly waitTime: WaitTime;
}

/** An open model: requests arrive whatever the target does. */
export interface ArrivalTraffic {
  readonly kind: 'arrivals';
  readonly schedule: ArrivalSchedule;
  /** In-flight limit. Arrivals above it are not sent, and counted. */
  readonly maxInFlight: number;
}

export type ArrivalSchedule =
  | { readonly kind: 'constant'; readonly perSecond: number }
  | { readonly kind: 'poisson'; readonly perSecond: number }
  /** Gaps from a gamma distribution: a coefficient of variation above 1 makes bursts. */
  | { readonly kind: 'gamma'; readonly perSecond: number; readonly variation: number }
  /** Poisson arrivals at a sequence of rates; the last one continues. */
  | {
      readonly kind: 'steps';
      readonly steps: readonly { readonly perSecond: number; readonly seconds: number }[];
    }
  /** Poisson arrivals at a rate that changes linearly; the last rate continues. */
  | { readonly kind: 'ramp'; readonly from: number; readonly to: number; readonly seconds: number }
  /** Recorded arrivals in milliseconds, ascending. */
  | { readonly kind: 'trace'; readonly name: string; readonly timesMs: readonly number[] };

export type Traffic = UsersTraffic | ArrivalTraffic;
