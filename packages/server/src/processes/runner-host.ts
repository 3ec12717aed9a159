/**
 * The door of a runner process: takes calls of web processes from a unix socket to the runners that live
 * here, and their answers back. When a web process goes, its calls are cancelled.
 */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import type { Runner, RunnerSettings } from '@batchwise/runners';
import { type Clock, realClock } from 'batchwise';
import { HostConnection } from './host-connection.js';
import { HostedRunner } from './hosted-runner.js';
import { setUnrefTimer } from './unref-timer.js';

export interface RunnerHostOptions {
  readonly clock?: Clock | undefined;
  readonly maxFrameBytes?: number | undefined;
  readonly maxBacklogBytes?: number | undefined;
  /** A web process sent what is no message, and was cut off; or settings that the runner does not take. */
  readonly onFault?: ((error: Error) => void) | undefined;
}

/** How often those who choose between replicas are told the load, besides what travels with their answers. */
const LOAD_EVERY_MS = 10;

export class RunnerHost {
  readonly #options: RunnerHostOptions;
  readonly #clock: Clock;
  readonly #runners = new Map<string, HostedRunner>();
  readonly #connections = new Set<HostConnection>();
  readonly #server: Server;
  #loadTimer: unknown;

  constructor(options: RunnerHostOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#server = createServer((socket) => {
      const connection = new HostConnection(socket, {
        ...this.#options,
        runners: this.#runners,
        onActivity: () => this.#onActivity(),
        onEnd: () => this.#connections.delete(connection),
      });
      this.#connections.add(connection);
    });
  }

  /** Its state is told to all who are connected, now and when it is ready or failed. */
  add(runner: Runner, settings: RunnerSettings): void {
    const hosted = new HostedRunner(runner, settings);
    this.#runners.set(runner.name, hosted);
    this.#tell(hosted);
    // One that was ready may not be for a while: its queue is elsewhere.
    runner.onStateChange(() => this.#tell(hosted));
    runner.ready.then(
      () => this.#tell(hosted),
      (error: unknown) => {
        hosted.failed(error);
        this.#tell(hosted);
      },
    );
  }

  configure(runner: string, settings: RunnerSettings): void {
    this.#runners.get(runner)?.configure(settings);
  }

  /** The folder should be one that only this user can enter: whoever connects is trusted. */
  async listen(path: string): Promise<void> {
    // A process that was killed leaves its socket behind.
    rmSync(path, { force: true });
    this.#server.listen(path);
    await once(this.#server, 'listening');
  }

  /** Takes no more calls and hangs up; what is not answered by then is cancelled, so close the runners first. */
  async close(): Promise<void> {
    this.#clock.clearTimer(this.#loadTimer);
    const isClosed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of [...this.#connections]) connection.close();
    await isClosed;
  }

  #tell(hosted: HostedRunner): void {
    for (const connection of this.#connections) connection.describe(hosted);
  }

  #onActivity(): void {
    if (this.#loadTimer !== undefined || !this.#isWatched()) return;
    this.#loadTimer = setUnrefTimer(
      this.#clock,
      () => {
        this.#loadTimer = undefined;
        for (const connection of this.#connections) connection.tellLoad();
      },
      LOAD_EVERY_MS,
    );
  }

  #isWatched(): boolean {
    for (const connection of this.#connections) if (connection.watchesLoad) return true;
    return false;
  }
}
