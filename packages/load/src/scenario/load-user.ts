/** What a task of a scenario is given: the user that runs it. */
import type { Outcome } from '../targets/target.js';

export interface LoadUser<State = Record<string, unknown>> {
  /** The name of its kind. */
  readonly kind: string;
  /** Its number among all users of the run, from 0. */
  readonly index: number;
  /** The state of this user: the result of `state()` of its kind, or an empty object. */
  readonly state: State;
  /** From 0 up to, but not including, 1; from the seed of the run. */
  random(): number;
  /** One of the values, at random. */
  pick<T>(values: readonly T[]): T;
  /** The next of the scenario's samples with this name: a JSON value, or bytes. The first one follows the last. */
  sample(name: string): unknown;
  get(url: string, options?: RequestOptions): Promise<LoadResponse>;
  post(url: string, options?: RequestOptions): Promise<LoadResponse>;
  /** Sends a request. A path is relative to the scenario's host. */
  request(method: string, url: string, options?: RequestOptions): Promise<LoadResponse>;
  /** Calls a function, and counts the call as a request: with its time, and as failed when it throws. */
  call<T>(name: string, fn: () => T | Promise<T>): Promise<T>;
  /** One of the scenario's targets. */
  target(name: string): UserTarget;
  /** Ends with the run. */
  sleep(seconds: number): Promise<void>;
}

export interface UserTarget {
  /** Sends the next sample of the target. */
  send(): Promise<Outcome>;
}

export interface RequestOptions {
  /** As reports name the request. @default method and path */
  readonly name?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  /** Sent as JSON. */
  readonly json?: unknown;
  readonly body?: string | Uint8Array;
  /** Give up on the response after this time. @default that of the scenario */
  readonly timeoutMs?: number;
  /**
   * Whether the response is a success: true (whatever its status), false, or the reason of the failure; undefined: the
   * status decides. A check that throws makes it a failure. Not called without a response.
   */
  readonly check?: (response: LoadResponse) => boolean | string | undefined;
}

export interface LoadResponse {
  /** 0 without a response: the request has failed, and `reason` has the cause. */
  readonly status: number;
  /** Whether it counts as a success. */
  readonly ok: boolean;
  /** The reason if it is not a success. */
  readonly reason: string | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Uint8Array;
  text(): string;
  /** @throws {SyntaxError} where the body is not JSON */
  json(): unknown;
}
