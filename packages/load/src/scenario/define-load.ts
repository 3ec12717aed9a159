/**
 * A scenario file:
 *
 *     import { between, defineLoad } from '@batchwise/load';
 *
 *     export default defineLoad({
 *       host: 'http://localhost:3000',
 *       users: {
 *         visitor: {
 *           waitTime: between(0.01, 2),
 *           tasks: {
 *             classify: (user) => user.post('/classify', { json: { text: 'hello' } }),
 *           },
 *         },
 *       },
 *     });
 */
import type { ShapeStep } from '../run/load-shape.js';
import type { WaitTime } from '../run/traffic.js';
import type { TargetSpec } from '../targets/target-spec.js';
import type { LoadUser } from './load-user.js';

export interface LoadDefinition {
  /** Base URL of the paths of requests; overridden by the command line. */
  readonly host?: string;
  /** Kinds of users by name. */
  readonly users: Readonly<Record<string, UserKind>>;
  /** The number of users after this many seconds. Called every second; null ends the run. */
  readonly shape?: (elapsedSeconds: number) => ShapeStep | null;
  /** Targets that tasks send to with `user.target(name)`. */
  readonly targets?: Readonly<Record<string, TargetSpec>>;
  /** Data for `user.sample(name)`: values, or a file as `@digits.jsonl`, beside the scenario. */
  readonly samples?: Readonly<Record<string, string | readonly unknown[]>>;
  /** Give up on a response over HTTP after this time, and count a failure. @default no limit */
  readonly timeoutMs?: number;
  readonly tls?: { readonly ca?: string; readonly insecure?: boolean };
}

export interface UserKind<State = Record<string, unknown>> {
  /**
   * Share of users of this kind, relative to the other kinds.
   * @default 1
   */
  readonly weight?: number;
  /** @default that of the run */
  readonly waitTime?: WaitTime;
  /**
   * Creates the state of a new user.
   * @default an empty object
   */
  readonly state?: () => State;
  /** Before the first task. */
  readonly onStart?: TaskFunction<State>;
  /** After the last task. */
  readonly onStop?: TaskFunction<State>;
  /** Tasks, chosen at random by weight. Either `tasks` or `sequence`. */
  readonly tasks?: Readonly<Record<string, TaskFunction<State> | Task<State>>>;
  /** Tasks that run in order, repeatedly. */
  readonly sequence?: Readonly<Record<string, TaskFunction<State> | SequenceTask<State>>>;
}

export type TaskFunction<State = Record<string, unknown>> = (user: LoadUser<State>) => unknown;

export interface SequenceTask<State = Record<string, unknown>> {
  /** A run can be limited to tasks with certain tags. */
  readonly tags?: readonly string[];
  readonly run: TaskFunction<State>;
}

export interface Task<State = Record<string, unknown>> extends SequenceTask<State> {
  /**
   * Frequency relative to the other tasks.
   * @default 1
   */
  readonly weight?: number;
}

/** Returns the definition with its type. It is validated when a run loads the file. */
export function defineLoad(definition: LoadDefinition): LoadDefinition {
  return definition;
}

/** A kind of users whose state has a type. */
export function defineUser<State>(kind: UserKind<State> & { readonly state: () => State }): UserKind {
  return kind as unknown as UserKind;
}
