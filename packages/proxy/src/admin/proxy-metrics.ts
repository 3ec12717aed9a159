/**
 * The metrics of a proxy: requests, the batcher of each batched method (as runner metrics of the server), and backends.
 * Events are counted without allocation. States are read when a snapshot is taken.
 */
import {
  buildInfo,
  LoopLag,
  type MetricsSnapshot,
  ownProcessMetrics,
  type ProtocolMetrics,
  Registry,
  type RunnerInstruments,
  requestMetrics,
  runnerInstruments,
  type WatchedRunner,
  WatchedRunners,
} from '@batchwise/metrics';
import type { BatcherStats } from 'batchwise';
import {
  type BackendInstruments,
  BackendMetrics,
  type BackendState,
  backendInstruments,
} from '../backends/backend-metrics.js';

/** The route label of all calls that are passed through, because callers can invent any path. */
export const PASS_THROUGH = 'pass-through';

export interface ProxyMetricsOptions {
  readonly version: string;
  /** The maximum number of label combinations per metric. @default 1000 */
  readonly maxLabelSets?: number | undefined;
  readonly loopLag?: LoopLag;
}

export class ProxyMetrics {
  /** The route is the path of a batched method, or `PASS_THROUGH`. */
  readonly requests: ProtocolMetrics;
  readonly #registry: Registry;
  readonly #runnerInstruments: RunnerInstruments;
  readonly #runners: WatchedRunners;
  readonly #methods = new Map<string, WatchedRunner>();
  readonly #backendInstruments: BackendInstruments;
  readonly #backends = new Map<string, BackendMetrics>();
  readonly #loopLag: LoopLag;

  constructor({ version, maxLabelSets, loopLag }: ProxyMetricsOptions) {
    this.#registry = new Registry({ maxLabelSets });
    this.requests = requestMetrics(this.#registry)('grpc');
    this.#runnerInstruments = runnerInstruments(this.#registry);
    this.#runners = new WatchedRunners(this.#registry, this.#runnerInstruments);
    this.#backendInstruments = backendInstruments(this.#registry);
    buildInfo(this.#registry, version);
    this.#loopLag = loopLag ?? new LoopLag();
    ownProcessMetrics(this.#registry, this.#loopLag);
    this.#registry.onCollect(() => {
      for (const backend of this.#backends.values()) backend.collect();
    });
  }

  /**
   * Exposes the batcher of a method, whose name must be the path. The returned function removes all series of the method,
   * so that invented paths do not accumulate. A new batcher of the same path replaces the old one and continues its
   * counters.
   */
  watchMethod(path: string, stats: () => BatcherStats, maxBatchSize: number): () => void {
    const runner = { name: path, stats };
    const stop = this.#runners.watch(runner, maxBatchSize);
    this.#methods.set(path, runner);
    return () => {
      stop();
      if (this.#methods.get(path) !== runner) return;
      this.#methods.delete(path);
      this.requests.forget(path);
      for (const instrument of Object.values(this.#runnerInstruments)) instrument.remove({ runner: path });
    };
  }

  /** Exposes a backend until `forget()`. A new backend of the same name replaces the old one and continues its counters. */
  watchBackend(name: string, state: () => BackendState): BackendMetrics {
    const backend = new BackendMetrics(this.#backendInstruments, name, state, () => this.#forget(backend));
    this.#backends.set(name, backend);
    return backend;
  }

  snapshot(): MetricsSnapshot {
    return this.#registry.snapshot();
  }

  /** Stops all measurements. */
  close(): void {
    this.#runners.close();
    this.#loopLag.stop();
  }

  #forget(backend: BackendMetrics): void {
    const { name } = backend;
    if (this.#backends.get(name) !== backend) return;
    this.#backends.delete(name);
    for (const instrument of Object.values(this.#backendInstruments)) instrument.remove({ backend: name });
  }
}
