/** A server in one process, the default. Models run on worker threads or in Python processes. */
import type { Runner, RunnerSettings } from '@batchwise/runners';
import { changedRunners } from './changed-runners.js';
import type { ServerSettings } from './config/server-settings.js';
import { makeRunner } from './make-runner.js';
import { ServerMetrics } from './metrics/server-metrics.js';
import type { LoadSettings, RunningServer, StartOptions } from './running-server.js';
import type { Service } from './service/service.js';
import { startOrKill } from './start-or-kill.js';
import { surviveRejections } from './survive-rejections.js';
import { VERSION } from './version.js';
import { type WebAddress, WebServer } from './web-server.js';

/** Resolves when it listens and all runners are warm. */
export async function startOneProcess(options: StartOptions): Promise<RunningServer> {
  const server = new OneProcess(options);
  await startOrKill(server, options.signal);
  return server;
}

class OneProcess implements RunningServer {
  readonly #load: LoadSettings;
  readonly #log: (line: string) => void;
  readonly #service: Service | undefined;
  readonly #metrics: ServerMetrics;
  readonly #runners = new Map<string, Runner>();
  readonly #runnerSettings = new Map<string, RunnerSettings>();
  readonly #web: WebServer;
  readonly #shutdownTimeoutMs: number;
  #stopSurviving: () => void = () => {};
  #settings: ServerSettings;
  #address: WebAddress | undefined;
  #stopping: Promise<boolean> | undefined;
  #killing: Promise<void> | undefined;

  constructor({ settings, planned, load, service, log }: StartOptions) {
    this.#load = load;
    this.#log = log;
    this.#service = service;
    this.#settings = settings;
    this.#shutdownTimeoutMs = settings.server.shutdownTimeoutMs;
    this.#metrics = new ServerMetrics({
      version: VERSION,
      kind: 'server',
      bentomlNames: settings.metrics.bentomlNames,
    });
    const surroundings = { service, servicePath: settings.service, log, metrics: this.#metrics };
    for (const plan of planned) {
      const runner = makeRunner(plan, surroundings);
      this.#runners.set(plan.name, runner);
      this.#runnerSettings.set(plan.name, plan.settings);
      this.#metrics.watchRunner(runner, plan.settings.batching.maxBatchSize);
    }
    this.#web = new WebServer({
      settings,
      runners: this.#runners,
      runnerSettings: this.#runnerSettings,
      service,
      metrics: this.#metrics,
      collect: () => this.#metrics.snapshot(),
      log,
    });
  }

  get address(): WebAddress {
    return this.#address as WebAddress;
  }

  get runners(): readonly string[] {
    return [...this.#runners.keys()];
  }

  /** Listens before the models are loaded, so that health checks see a server that is alive and not ready. */
  async start(): Promise<void> {
    this.#stopSurviving = surviveRejections(this.#metrics, this.#log);
    this.#address = await this.#web.listen();
    await Promise.all([...this.#runners.values()].map(({ ready }) => ready));
  }

  reload(): void {
    const loaded = this.#load(this.runners);
    const changed = changedRunners(this.#settings, loaded, this.#service, this.runners, this.#log);
    for (const [name, settings] of changed) {
      const runner = this.#runners.get(name) as Runner;
      runner.configure(settings);
      this.#runnerSettings.set(name, settings);
      this.#metrics.watchRunner(runner, settings.batching.maxBatchSize);
    }
    this.#settings = loaded.settings;
  }

  stop(): Promise<boolean> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  kill(): Promise<void> {
    this.#stopping ??= Promise.resolve(false);
    this.#killing ??= this.#kill();
    return this.#killing;
  }

  async #kill(): Promise<void> {
    const closed = [this.#web.close(), ...this.#closeRunners()];
    this.#end();
    await Promise.allSettled(closed);
  }

  /** Ends threads and Python processes. */
  #closeRunners(): Promise<void>[] {
    return [...this.#runners.values()].map((runner) => runner.close({ timeoutMs: 0 }));
  }

  async #stop(): Promise<boolean> {
    const timeoutMs = this.#shutdownTimeoutMs;
    const cut = await this.#web.drain(timeoutMs);
    // All requests have been answered.
    await Promise.allSettled(this.#closeRunners());
    this.#end();
    return cut === 0;
  }

  #end(): void {
    this.#metrics.close();
    this.#stopSurviving();
  }
}
