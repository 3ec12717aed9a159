/** Web processes around one copy of each model, in a process of its own: `--workers`, `replicas`. */
import type { RunnerSettings } from '@batchwise/runners';
import { changedRunners } from './changed-runners.js';
import type { ServerSettings } from './config/server-settings.js';
import { countersOf, mergeSnapshots } from './metrics/merge-snapshots.js';
import type { MetricsSnapshot } from './metrics/metrics-snapshot.js';
import type { PlannedRunner } from './planned-runner.js';
import { Supervisor } from './processes/supervisor.js';
import type { RunnerProcessSource } from './runner-process.js';
import type { LoadSettings, RunningServer, StartOptions } from './running-server.js';
import type { Service } from './service/service.js';
import type { WebProcessSettings } from './web-process.js';
import type { WebAddress } from './web-server.js';

export async function startManyProcesses(options: StartOptions): Promise<RunningServer> {
  const server = new ManyProcesses(options);
  await server.start();
  return server;
}

class ManyProcesses implements RunningServer {
  readonly #load: LoadSettings;
  readonly #log: (line: string) => void;
  readonly #service: Service | undefined;
  readonly #planned: readonly PlannedRunner[];
  readonly #supervisor: Supervisor;
  #settings: ServerSettings;
  #address: WebAddress | undefined;

  constructor({ settings, planned, load, service, log }: StartOptions) {
    this.#load = load;
    this.#log = log;
    this.#service = service;
    this.#settings = settings;
    this.#planned = planned;
    this.#supervisor = new Supervisor({
      runnerModule: new URL('./runner-process.js', import.meta.url),
      webModule: new URL('./web-process.js', import.meta.url),
      runners: this.#planned.map(({ name, source, settings: runner }) => ({
        name,
        settings: runner,
        source: {
          source,
          service: settings.service,
          metrics: settings.metrics,
        } satisfies RunnerProcessSource,
        env: runner.resources.gpu.length > 0 ? { CUDA_VISIBLE_DEVICES: runner.resources.gpu.join() } : {},
      })),
      webProcesses: settings.server.workers,
      webSettings: this.#webSettings(new Map(this.#planned.map(({ name, settings: own }) => [name, own]))),
      shutdownTimeoutMs: settings.server.shutdownTimeoutMs,
      foldSnapshots: (kept, ended) =>
        mergeSnapshots([(kept ?? []) as MetricsSnapshot, countersOf(ended as MetricsSnapshot)]),
      log,
    });
  }

  get address(): WebAddress {
    return this.#address as WebAddress;
  }

  get runners(): readonly string[] {
    return this.#planned.map(({ name }) => name);
  }

  async start(): Promise<void> {
    const [first] = await this.#supervisor.start();
    this.#address = first as WebAddress;
  }

  reload(): void {
    const loaded = this.#load(this.runners);
    const runners = changedRunners(this.#settings, loaded, this.#service, this.runners, this.#log);
    this.#settings = loaded.settings;
    this.#supervisor.reload({ runners });
  }

  stop(): Promise<boolean> {
    return this.#supervisor.stop();
  }

  kill(): void {
    this.#supervisor.kill();
  }

  #webSettings(runners: ReadonlyMap<string, RunnerSettings>): WebProcessSettings {
    return { settings: this.#settings, runners };
  }
}
