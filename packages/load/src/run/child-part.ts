/** A child process with a share of a run, as its parent sees it. */
import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Clock } from 'batchwise';
import { LoadError } from '../load-error.js';
import { decodeInterval } from '../statistics/interval.js';
import type { RunSpec } from './load-run.js';
import type { PartEvents } from './prepare-part.js';
import type { FromChild, ToChild } from './process-message.js';
import type { Part } from './run.js';
import type { Share } from './share.js';

/** Sources cannot be run in a process of their own: their build is. */
const MODULE = new URL(
  import.meta.url.endsWith('.ts') ? '../../dist/run/child-process.js' : './child-process.js',
  import.meta.url,
);

/** Beyond the time for requests in flight: a process that has not ended by then hangs, and is killed. */
const END_MS = 5000;

export interface ChildEvents extends PartEvents {
  /** It ended before it was done. */
  readonly onLost: (how: string) => void;
}

export class ChildPart implements Part {
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #stopMs: number;
  #events: ChildEvents | undefined;
  #state: 'preparing' | 'running' | 'done' = 'preparing';
  /** How it ended; undefined while it runs. */
  #exit: string | undefined;
  #killTimer: unknown;

  constructor(clock: Clock, stopSeconds: number) {
    this.#clock = clock;
    this.#stopMs = 1000 * stopSeconds;
    this.#child = fork(fileURLToPath(MODULE), [], { serialization: 'advanced' });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /**
   * Whether the scenario has a load shape.
   *
   * @throws {LoadError}
   */
  prepare(spec: RunSpec, share: Share, events: ChildEvents): Promise<boolean> {
    this.#events = events;
    return new Promise((resolve, reject) => {
      this.#child.on('message', (message: FromChild) => {
        if (message.kind === 'ready') resolve(message.hasShape);
        else if (message.kind === 'refused') reject(refusal(message.code, message.message));
        else this.#onMessage(message);
      });
      this.#child.on('exit', (code, signal) => {
        const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
        reject(new Error(`A process of the run ended before it was ready (${how}).`));
        this.#onExit(how);
      });
      this.#child.on('error', (error) => {
        reject(new Error(`A process of the run could not be started: ${error.message}`, { cause: error }));
        if (this.#child.pid === undefined) this.#onExit(error.message);
      });
      this.#tell({ kind: 'prepare', spec, share });
    });
  }

  start(atEpochMs: number): void {
    this.#state = 'running';
    const exit = this.#exit;
    // It was ready, and died while others were not. Later: parts are started one after the other.
    if (exit !== undefined) this.#clock.defer(() => this.#onExit(exit));
    else this.#tell({ kind: 'start', atEpochMs });
  }

  setUsers(users: number, spawnRate: number): void {
    this.#tell({ kind: 'users', users, spawnRate });
  }

  stop(): void {
    this.#tell({ kind: 'stop' });
    this.#killLater();
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  #onMessage(message: FromChild): void {
    if (message.kind === 'interval') {
      this.#events?.onInterval(decodeInterval(message.interval));
    } else if (message.kind === 'stopping') {
      this.#events?.onStopping(message.afterSeconds);
      this.#killLater();
    } else if (message.kind === 'ended') {
      this.#state = 'done';
    }
  }

  #onExit(how: string): void {
    this.#exit = how;
    this.#clock.clearTimer(this.#killTimer);
    if (this.#state === 'preparing') return;
    if (this.#state === 'running') this.#events?.onLost(how);
    this.#events?.onEnded();
    this.#events = undefined;
  }

  #killLater(): void {
    this.#killTimer ??= this.#clock.setTimer(() => this.kill(), this.#stopMs + END_MS);
  }

  #tell(message: ToChild): void {
    // With a callback, a channel that is closed is reported to it and not thrown.
    this.#child.send(message, () => {});
  }
}

function refusal(code: LoadError['code'] | undefined, message: string): Error {
  return code === undefined ? new Error(message) : new LoadError(code, message);
}
