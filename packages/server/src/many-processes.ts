/** Web processes around one copy of each model, in a process of its own: `--workers`, `replicas`. */

import { countersOf, type MetricsSnapshot, mergeSnapshots } from '@batchwise/metrics';
import { changedRunners } from './changed-runners.js';
import type { ServerSettings } from './config/server-settings.js';
import { freePort } from './free-port.js';
import { visibleDevices } from './own-devices.js';
import type { PlannedRunner } from './planned-runner.js';
import { Supervisor } from './processes/supervisor.js';
import type { RunnerProcessSource } from './runner-process.js';
import type { LoadSettings, RunningServer, StartOptions } from './running-server.js';
import type { Service } from './service/service.js';
import { startOrKill } from './start-or-kill.js';
import type { WebProcessSettings } from './web-process.js';
import type { WebAddress } from './web-server.js';

/** A runner process needs milliseconds to kill its Python processes and their child processes. */
const PYTHON_KILL_MS = 1000;

export async function startManyProcesses(options: StartOptions): Promise<RunningServer> {
  const ports = await ownPorts(options.settings);
  const server = new ManyProcesses(options, ports);
  await startOrKill(server, options.signal);
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

  constructor({ settings, planned, load, service, log }: StartOptions, ports: Ports) {
    this.#load = load;
    this.#log = log;
    this.#service = service;
    this.#settings = settings;
    this.#planned = planned;
    this.#supervisor = new Supervisor({
      runnerModule: new URL('./runner-process.js', import.meta.url),
      webModule: new URL('./web-process.js', import.meta.url),
      runners: this.#planned.map((runner) => ({
        name: runner.name,
        settings: runner.settings,
        killGraceMs: runner.source.kind === 'python' ? PYTHON_KILL_MS : 0,
        source: {
          source: runner.source,
          service: settings.service,
          metrics: settings.metrics,
        } satisfies RunnerProcessSource,
        env: visibleDevices(runner),
      })),
      webProcesses: settings.server.workers,
      webSettings: {
        settings: { ...settings, server: { ...settings.server, ...ports } },
        runners: new Map(planned.map((runner) => [runner.name, runner.settings])),
      } satisfies WebProcessSettings,
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

  kill(): Promise<void> {
    return this.#supervisor.kill();
  }
}

type Ports = Pick<ServerSettings['server'], 'port' | 'grpcPort'>;

/** Where any free port will do it is chosen once: a process that takes the place of another must have the same. */
async function ownPorts({ server: { host, port, grpcPort } }: ServerSettings): Promise<Ports> {
  return {
    port: port === 0 ? await freePort(host) : port,
    grpcPort: grpcPort === 0 ? await freePort(host) : grpcPort,
  };
}
