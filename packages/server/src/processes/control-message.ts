/**
 * What the supervisor and its processes say to each other, by `process.send`: seldom and small. Requests
 * and answers go over sockets.
 */
import type { RunnerSettings } from '@batchwise/runners';
import type { RunnerDescription } from './wire-message.js';

/** What a runner process is to be. */
export interface RunnerStart {
  readonly name: string;
  readonly replica: number;
  readonly socket: string;
  readonly settings: RunnerSettings;
  /** What else `makeRunner` needs to know: a path, a model's options. */
  readonly source: unknown;
}

/** A runner that a web process can call. */
export interface RemoteRunnerStart {
  readonly name: string;
  readonly sockets: readonly string[];
  readonly settings: RunnerSettings;
  readonly known: KnownRunner | undefined;
}

export type KnownRunner = Pick<RunnerDescription, 'kind' | 'platform' | 'signature'>;

export interface WebStart {
  readonly runners: readonly RemoteRunnerStart[];
  readonly settings: unknown;
  /** The server has been ready before: the runners should be there. */
  readonly isRestart: boolean;
}

/** New settings; runners that are not named keep theirs. */
export interface Reload {
  readonly runners: ReadonlyMap<string, RunnerSettings>;
}

/** From the supervisor. */
export type ControlMessage =
  | { readonly type: 'start'; readonly start: RunnerStart | WebStart }
  | { readonly type: 'drain'; readonly timeoutMs: number }
  | { readonly type: 'reload'; readonly reload: Reload }
  | { readonly type: 'snapshot'; readonly id: number }
  | { readonly type: 'collected'; readonly id: number; readonly report: ProcessReport };

/** How often a process shows that it is alive. */
export const ALIVE_EVERY_MS = 1000;

/** To the supervisor. */
export type ChildMessage =
  /** It listens now: a process of a cluster loses what it is told before. */
  | { readonly type: 'listening' }
  /** Nothing but a sign of life: its event loop turns. */
  | { readonly type: 'alive' }
  | { readonly type: 'ready'; readonly detail: unknown }
  /** Sent before it ends, so that there is more to say than an exit code. */
  | { readonly type: 'failed'; readonly message: string }
  /** An answer when it has an id, else of its own accord, every second. */
  | { readonly type: 'snapshot'; readonly id: number | undefined; readonly snapshot: unknown }
  | { readonly type: 'collect'; readonly id: number; readonly deadlineMs: number };

export type ProcessKind = 'web' | 'runner';

/** The metrics of one process, whatever they are made of. */
export interface ProcessSnapshot {
  readonly kind: ProcessKind;
  /** The runner's name; undefined for web processes. */
  readonly runner: string | undefined;
  /** Which replica of the runner, which of the web processes. */
  readonly index: number;
  /** False for the last that is known of processes that have ended: their counters still count, their gauges do not. */
  readonly isAlive: boolean;
  readonly snapshot: unknown;
}

export interface RestartCount {
  readonly kind: ProcessKind;
  readonly runner: string | undefined;
  readonly restarts: number;
}

/** All that is known of all processes at a moment. */
export interface ProcessReport {
  readonly snapshots: readonly ProcessSnapshot[];
  readonly restarts: readonly RestartCount[];
}
