/**
 * All metrics of one process of the server. Those that happen are counted as they do; those that stand
 * somewhere are read when a snapshot is taken.
 */
import { type BatchRecord, onBatch } from 'batchwise';
import { withBentomlNames } from './bentoml-names.js';
import type { CounterChild } from './counter.js';
import { LoopLag } from './loop-lag.js';
import type { MetricsSnapshot } from './metrics-snapshot.js';
import { ownProcessMetrics } from './own-process-metrics.js';
import { Registry } from './registry.js';
import { type RequestMetrics, requestMetrics } from './request-metrics.js';
import { type RunnerInstruments, runnerInstruments } from './runner-instruments.js';
import { RunnerMetrics, type WatchedRunner } from './runner-metrics.js';

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
  readonly #runners = new Map<string, RunnerMetrics>();
  /** One that is watched again must not have all it ever did counted twice. */
  readonly #everWatched = new WeakMap<WatchedRunner, RunnerMetrics>();
  readonly #bentomlNames: boolean;
  readonly #loopLag: LoopLag;
  readonly #unhandled: CounterChild;
  readonly #stopListening: () => void;

  constructor({ version, kind, bentomlNames = false, maxLabelSets, loopLag }: ServerMetricsOptions) {
    this.#registry = new Registry({ maxLabelSets });
    this.#bentomlNames = bentomlNames;
    const requests = requestMetrics(this.#registry);
    this.http = requests('http');
    this.grpc = requests('grpc');
    this.#instruments = runnerInstruments(this.#registry);
    addBuildInfo(this.#registry, version);
    addProcesses(this.#registry, kind);
    this.#loopLag = loopLag ?? new LoopLag();
    ownProcessMetrics(this.#registry, this.#loopLag);
    this.#unhandled = this.#registry
      .counter({
        name: 'batchwise_unhandled_rejections_total',
        help: 'Promises that were rejected with nobody waiting for them: mistakes in the code of a service.',
        labels: [],
      })
      .labels();
    this.#registry.onCollect(() => {
      for (const runner of this.#runners.values()) runner.collect();
    });
    // One listener for all runners: with one each, every batch would be looked at by all of them.
    this.#stopListening = onBatch((batch: BatchRecord) => this.#runners.get(batch.name)?.batchEnded(batch));
  }

  /**
   * Shows a runner, until the function that is returned is called. The same runner again: its batches may
   * now be of another size. Another of the same name: it takes the place of the first, and its counters go on.
   */
  watchRunner(runner: WatchedRunner, maxBatchSize: number): () => void {
    const watched = this.#metricsOf(runner);
    const former = this.#runners.get(runner.name);
    if (former !== watched) former?.end();
    watched.setMaxBatchSize(maxBatchSize);
    this.#runners.set(runner.name, watched);
    return () => this.#unwatch(watched);
  }

  /** To be told how long putting a batch together and taking its results apart took. */
  assemblyOf(runner: string): (durationMs: number) => void {
    const assembly = this.#instruments.assembly.labels(runner);
    return (durationMs) => assembly.observe(durationMs / 1000);
  }

  /** To be told, when it starts, of a batch that its batcher counts as 1: how many rows it has. */
  wholesOf(runner: string): (rows: number) => void {
    return (rows) => this.#runners.get(runner)?.wholeStarted(rows);
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
    this.#stopListening();
    this.#loopLag.stop();
  }

  #metricsOf(runner: WatchedRunner): RunnerMetrics {
    const metrics = this.#everWatched.get(runner) ?? new RunnerMetrics(this.#instruments, runner);
    this.#everWatched.set(runner, metrics);
    return metrics;
  }

  #unwatch(watched: RunnerMetrics): void {
    const { name } = watched.runner;
    if (this.#runners.get(name) !== watched) return;
    watched.end();
    this.#runners.delete(name);
  }
}

function addBuildInfo(registry: Registry, version: string): void {
  const info = registry.gauge({
    name: 'batchwise_build_info',
    help: 'Always 1; the label says which version runs.',
    labels: ['version'],
    rule: 'max',
  });
  info.labels(version).set(1);
}

/** Each counts itself. */
function addProcesses(registry: Registry, kind: ProcessKind): void {
  const processes = registry.gauge({
    name: 'batchwise_processes',
    help: 'Processes that run.',
    labels: ['kind'],
    rule: 'sum',
  });
  processes.labels(kind).set(1);
}
