/**
 * What processes say to each other over a socket. Tuples, because the names of fields would travel with
 * every message: that made frames half again as slow.
 */

import type { RunnerSettings, RunnerState, Signature } from '@batchwise/runners';
import type { EnqueueOptions } from 'batchwise';
import type { RunnerLoad } from './runner-load.js';
import type { WireError } from './wire-error.js';

export const WIRE = {
  call: 0,
  cancel: 1,
  configure: 2,
  watchLoad: 3,
  runner: 4,
  result: 5,
  error: 6,
  load: 7,
} as const;

/** From a web process to a runner process. */
export type HostMessage =
  | readonly [
      type: typeof WIRE.call,
      id: number,
      runner: string,
      item: unknown,
      /** `timeoutMs` is the time that is left, so that no two clocks need to agree. */
      options: EnqueueOptions | undefined,
    ]
  | readonly [type: typeof WIRE.cancel, id: number]
  | readonly [type: typeof WIRE.configure, runner: string, settings: RunnerSettings]
  /** To be told the load of a runner: worth it for those who can choose between several. */
  | readonly [type: typeof WIRE.watchLoad, runner: string];

/** From a runner process to a web process. */
export type CallerMessage =
  /** On connecting, and whenever the state of a runner changes. */
  | readonly [type: typeof WIRE.runner, description: RunnerDescription]
  | readonly [
      type: typeof WIRE.result,
      id: number,
      result: unknown,
      batchSize: number,
      queueMs: number,
      computeMs: number,
    ]
  | readonly [type: typeof WIRE.error, id: number, error: WireError]
  /** `calls`: how many calls of this connection to the runner the load takes account of. */
  | readonly [type: typeof WIRE.load, runner: string, load: RunnerLoad, calls: number];

export interface RunnerDescription {
  readonly name: string;
  readonly kind: 'model' | 'function';
  readonly platform: string;
  readonly state: RunnerState;
  readonly problem: string | undefined;
  readonly isGrouped?: boolean | undefined;
  readonly signature: Signature | undefined;
  /** Why its state is `failed`. */
  readonly error: WireError | undefined;
}
