/**
 * The parent of all processes of a server: runner processes that hold the models and web processes that
 * share the port. Starts them all at once, restarts what crashes, and drains the web processes first.
 *
 *     const supervisor = new Supervisor({ runnerModule, webModule, runners: [{ name: 'digits', settings, source }], webProcesses: 2, webSettings });
 *     await supervisor.start();
 *     process.on('SIGTERM', () => supervisor.stop());
 */
import type { RunnerSettings } from '@batchwise/runners';
import { type Clock, realClock } from 'batchwise';
import { type ChildHandle, type Environment, forkChild, forkClusterChild } from './child-handle.js';
import type {
  ChildMessage,
  KnownRunner,
  ProcessKind,
  ProcessReport,
  Reload,
  RestartCount,
  RunnerStart,
  WebStart,
} from './control-message.js';
import { type FoldSnapshots, SnapshotKeeper } from './snapshot-keeper.js';
import { SocketFolder } from './socket-folder.js';
import { SupervisedProcess } from './supervised-process.js';

export interface SupervisedRunner {
  readonly name: string;
  /** `replicas` is the number of processes. */
  readonly settings: RunnerSettings;
  /**
   * How long a process may take to end its own child processes before it is killed.
   * @default 0
   */
  readonly killGraceMs?: number | undefined;
  /** What else `makeRunner` needs; anything that can be cloned. */
  readonly source?: unknown;
  /** For instance which devices it may see. */
  readonly env?: Environment | undefined;
}

export interface SupervisorOptions {
  /** Modules that call `runnerProcessMain` and `webProcessMain`. */
  readonly runnerModule: string | URL;
  readonly webModule: string | URL;
  readonly runners: readonly SupervisedRunner[];
  readonly webProcesses: number;
  /** What web processes get to know; anything that can be cloned. */
  readonly webSettings?: unknown;
  /** @default 30000 */
  readonly shutdownTimeoutMs?: number | undefined;
  /**
   * How long a process may show no sign of life before it counts as hung and is killed; a runner process at
   * least as long as its time-out, because its function may keep its event loop busy that long.
   * @default 30000
   */
  readonly mostSilentMs?: number | undefined;
  /** How the last snapshot of an ended process joins what is kept; the newer replaces the older unless given. */
  readonly foldSnapshots?: FoldSnapshots | undefined;
  readonly log?: ((line: string) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly spawn?: typeof spawnReal | undefined;
}

/** Runners have nothing left to do once the web processes are gone: however late it is, they get so long. */
const LEAST_TIMEOUT_MS = 1000;

const MOST_SILENT_MS = 30_000;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #clock: Clock;
  readonly #folder = new SocketFolder();
  readonly #snapshots: SnapshotKeeper;
  readonly #settings = new Map<string, RunnerSettings>();
  readonly #sockets = new Map<string, string[]>();
  readonly #known = new Map<string, KnownRunner>();
  readonly #runnerProcesses: SupervisedProcess[] = [];
  readonly #webProcesses: SupervisedProcess[] = [];
  #hasStarted = false;
  #stopping: Promise<boolean> | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#snapshots = new SnapshotKeeper(this.#clock, options.foldSnapshots ?? ((_, ended) => ended));
    for (const runner of options.runners) this.#plan(runner);
    for (let index = 0; index < options.webProcesses; index += 1) {
      this.#webProcesses.push(this.#process('web', undefined, index, () => this.#webStart()));
    }
  }

  /**
   * Resolves with what each web process says when it is ready, which is when all runners are; rejects when one
   * cannot start, and ends the others. The web processes listen from the first, so that those who watch the
   * server see it alive while its models warm up.
   */
  async start(): Promise<readonly unknown[]> {
    try {
      const runners = launched(this.#runnerProcesses);
      const [details] = await Promise.all([launched(this.#webProcesses), runners]);
      this.#hasStarted = true;
      return details;
    } catch (error) {
      if (this.#stopping === undefined) void this.kill();
      throw error;
    }
  }

  /** Processes that are running, in no order. */
  get pids(): readonly number[] {
    return this.#processes.flatMap(({ pid }) => pid ?? []);
  }

  /** How often processes of this kind, or of this runner, had to be started again. */
  restarts(kind: ProcessKind, runner?: string): number {
    let restarts = 0;
    for (const process of this.#processes) {
      if (process.kind === kind && (runner === undefined || process.runner === runner)) {
        restarts += process.restarts;
      }
    }
    return restarts;
  }

  async collectMetrics(deadlineMs: number): Promise<ProcessReport> {
    const snapshots = await this.#snapshots.collect(this.#processes, deadlineMs);
    const restarts: RestartCount[] = this.#options.runners.map(({ name }) => ({
      kind: 'runner',
      runner: name,
      restarts: this.restarts('runner', name),
    }));
    restarts.push({ kind: 'web', runner: undefined, restarts: this.restarts('web') });
    return { snapshots, restarts };
  }

  /** Takes effect in all processes, and in those that are started from now on. */
  reload(reload: Reload): void {
    for (const [name, settings] of reload.runners) {
      if (this.#settings.has(name)) this.#settings.set(name, settings);
    }
    for (const process of this.#processes) process.send({ type: 'reload', reload });
  }

  /** Finishes what was accepted: first the web processes, then the runners. False when something had to be killed. */
  stop(): Promise<boolean> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** Kills all processes now. Resolves when they have ended. */
  async kill(): Promise<void> {
    this.#stopping ??= Promise.resolve(false);
    const ended = this.#processes.map((process) => process.kill());
    this.#folder.remove();
    await Promise.all(ended);
  }

  get #processes(): readonly SupervisedProcess[] {
    return [...this.#webProcesses, ...this.#runnerProcesses];
  }

  async #stop(): Promise<boolean> {
    const timeoutMs = this.#options.shutdownTimeoutMs ?? 30_000;
    const endAt = this.#clock.now() + timeoutMs;
    const webEnded = await stopped(this.#webProcesses, timeoutMs);
    const leftMs = Math.max(endAt - this.#clock.now(), Math.min(LEAST_TIMEOUT_MS, timeoutMs));
    const runnersEnded = await stopped(this.#runnerProcesses, leftMs);
    this.#folder.remove();
    return webEnded && runnersEnded;
  }

  #plan(runner: SupervisedRunner): void {
    const { name, settings, source } = runner;
    this.#settings.set(name, settings);
    const sockets: string[] = [];
    this.#sockets.set(name, sockets);
    for (let replica = 0; replica < settings.replicas; replica += 1) {
      const socket = this.#folder.socket(this.#runnerProcesses.length);
      sockets.push(socket);
      const start = (): RunnerStart => ({
        name,
        replica,
        socket,
        settings: this.#settings.get(name) ?? settings,
        source,
      });
      this.#runnerProcesses.push(this.#process('runner', runner, replica, start));
    }
  }

  #process(
    kind: ProcessKind,
    { name: runner, env = {}, killGraceMs = 0 }: Partial<SupervisedRunner> = {},
    index: number,
    start: () => RunnerStart | WebStart,
  ): SupervisedProcess {
    const { log = () => {}, spawn = spawnReal, runnerModule, webModule } = this.#options;
    return new SupervisedProcess({
      kind,
      runner,
      index,
      clock: this.#clock,
      spawn: () =>
        kind === 'web'
          ? spawn(kind, webModule, env, `${index}`)
          : spawn(kind, runnerModule, env, `${runner}/${index}`),
      start,
      killGraceMs,
      mostSilentMs: () => this.#mostSilentMs(runner),
      onMessage: (message, from) => this.#take(message, from),
      onEnd: (from) => this.#snapshots.ended(from),
      log,
    });
  }

  #mostSilentMs(runner: string | undefined): number {
    const { mostSilentMs = MOST_SILENT_MS } = this.#options;
    const timeoutMs = runner === undefined ? 0 : (this.#settings.get(runner)?.timeoutMs ?? 0);
    return Number.isFinite(timeoutMs) ? Math.max(mostSilentMs, timeoutMs) : mostSilentMs;
  }

  #webStart(): WebStart {
    const runners = this.#options.runners.map(({ name, settings }) => ({
      name,
      sockets: this.#sockets.get(name) ?? [],
      settings: this.#settings.get(name) ?? settings,
      known: this.#known.get(name),
    }));
    return { runners, settings: this.#options.webSettings, isRestart: this.#hasStarted };
  }

  #take(message: ChildMessage, from: SupervisedProcess): void {
    switch (message?.type) {
      case 'ready':
        // So that a web process knows the runner's inputs even when it starts while the runner is down.
        if (from.runner !== undefined) this.#known.set(from.runner, message.detail as KnownRunner);
        break;
      case 'snapshot':
        this.#snapshots.tell(from, message.snapshot, message.id);
        break;
      case 'collect':
        this.collectMetrics(message.deadlineMs).then((report) =>
          from.send({ type: 'collected', id: message.id, report }),
        );
        break;
      default:
        break;
    }
  }
}

function launched(processes: readonly SupervisedProcess[]): Promise<unknown[]> {
  for (const process of processes) process.launch();
  return Promise.all(processes.map(({ firstReady }) => firstReady));
}

async function stopped(processes: readonly SupervisedProcess[], timeoutMs: number): Promise<boolean> {
  const ended = await Promise.all(processes.map((process) => process.stop(timeoutMs)));
  return ended.every(Boolean);
}

/** The name is for whoever looks at the list of processes. */
function spawnReal(kind: ProcessKind, module: string | URL, env: Environment, name: string): ChildHandle {
  return kind === 'web' ? forkClusterChild(module, env, name) : forkChild(module, env, name);
}
