/** What users and arrivals do: requests to one target, or the tasks of a scenario. */
import type { WaitTime } from './traffic.js';

/** Why a request that is given up at the end of a run is a failure. */
export const NO_RESPONSE_AT_END = 'no response when the run ended';

export interface Work {
  /** Requests that are sent and not ended. */
  readonly inFlight: number;
  readonly connections: number;
  /** @throws {LoadError} what can be known before the first request */
  prepare(): Promise<void>;
  /** What one arrival does. `done` is called once, not before `arrive` has returned. */
  arrive(number: number, intendedAt: number, done: () => void): void;
  /** A user of a closed model. The index is that among the users of all processes. */
  createUser(index: number): WorkUser;
  /** The run is stopped: no new requests but those of users that stop. */
  halt(): void;
  /** Of an open model, when no arrival is in flight: stops the users that arrivals were given. */
  release(done: () => void): void;
  /** Counts every request in flight as failed. Nothing is recorded from here on, and no `done` is called. */
  abandon(): void;
  close(): Promise<void>;
}

/** What a user does. Each `done` is called once; that of `run` not before `run` has returned. */
export interface WorkUser {
  /** Undefined: that of the traffic. */
  readonly waitTime: WaitTime | undefined;
  start(done: () => void): void;
  run(intendedAt: number, done: () => void): void;
  stop(done: () => void): void;
}
