/**
 * All metrics of one process of the server. Those that happen are counted as they do; those that stand
 * somewhere are read when a snapshot is taken.
 */
import {
  buildInfo,
  type Counter,
  type CounterChild,
  LoopLag,
  type MetricsSnapshot,
  ownProcessMetrics,
  Registry,
  type RequestMetrics,
  type RunnerInstruments,
  requestMetrics,
  runnerInstruments,
  type WatchedRunner,
  WatchedRunners,
} from '@batchwise/metrics';
import { withBentomlNames } from './bentoml-names.js';
import { PROCESS_RESTARTS } from './process-restarts.js';

/** `server`: one process that does it all. */
export type ProcessKind = 'server' | 'web' | 'runner';

export interface ServerMetricsOptions {
  readonly version: string;
  readonly kind: ProcessKind;
  /** Show the batch-size histogram under BentoML's name too. @default false */
  readonly bentomlNames?: boolean | undefined;
  /** How many combinations of label values a metric may have. @default 1000 */
  readonly maxLabelSets?: number | undefined;
  readonly loopLag?: LoopLag;
}

export class ServerMetrics {
  readonly http: RequestMetrics;
  readonly grpc: RequestMetrics;
  readonly #registry: Registry;
  readonly #instruments: RunnerInstruments;
  readonly #runners: WatchedRunners;
  readonly #bentomlNames: boolean;
  readonly #loopLag: LoopLag;
  readonly #unhandled: CounterChild;
  readonly #restarts: Counter<typeof PROCESS_RESTARTS.labels>;

  constructor({ version, kind, bentomlNames = false, maxLabelSets, loopLag }: ServerMetricsOptions) {
    this.#registry = new Registry({ maxLabelSets });
    this.#bentomlNames = bentomlNames;
    const requests = requestMetrics(this.#registry);
    this.http = requests('http');
    this.grpc = requests('grpc');
    this.#instruments = runnerInstruments(this.#registry);
    buildInfo(this.#registry, version);
    addProcesses(this.#registry, kind);
    this.#loopLag = loopLag ?? new LoopLag();
    ownProcessMetrics(this.#registry, this.#loopLag);
    this.#unhandled = this.#registry
      .counter({
        name: 'batchwise_unhandled_rejections_total',
        help: 'Unhandled promise rejections: errors in the code of a service.',
        labels: [],
      })
      .labels();
    this.#restarts = this.#registry.counter(PROCESS_RESTARTS);
    this.#runners = new WatchedRunners(this.#registry, this.#instruments);
  }

  /**
   * Shows a runner, until the function that is returned is called. The same runner again: its batches may
   * now be of another size. Another of the same name: it takes the place of the first, and its counters go on.
   */
  watchRunner(runner: WatchedRunner, maxBatchSize: number): () => void {
    return this.#runners.watch(runner, maxBatchSize);
  }

  /** To be told how long putting a batch together and taking its results apart took. */
  assemblyOf(runner: string): (durationMs: number) => void {
    const assembly = this.#instruments.assembly.labels(runner);
    return (durationMs) => assembly.observe(durationMs / 1000);
  }

  /** To be told, when it starts, of a batch that its batcher counts as 1: how many rows it has. */
  wholesOf(runner: string): (rows: number) => void {
    return (rows) => this.#runners.wholeStarted(runner, rows);
  }

  /** Returns a function that counts a restart of a process of the model. The counter starts at 0. */
  modelRestartsOf(runner: string): () => void {
    const restarts = this.#restarts.labels('model', runner);
    return () => restarts.inc();
  }

  /** A promise was rejected that nobody waited for. */
  rejectionUnhandled(): void {
    this.#unhandled.inc();
  }

  snapshot(): MetricsSnapshot {
    const snapshot = this.#registry.snapshot();
    return this.#bentomlNames ? withBentomlNames(snapshot) : snapshot;
  }

  /** Listens and measures no longer. */
  close(): void {
    this.#runners.close();
    this.#loopLag.stop();
  }
}

/** Each counts itself. */
function addProcesses(registry: Registry, kind: ProcessKind): void {
  const processes = registry.gauge({
    name: 'batchwise_processes',
    help: 'Running processes.',
    labels: ['kind'],
    rule: 'sum',
  });
  processes.labels(kind).set(1);
}
