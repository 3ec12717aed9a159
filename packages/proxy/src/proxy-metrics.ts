/**
 * All metrics of a proxy: its requests, the batcher of each batched method in the words of the server's
 * runners, and its backends. Those that happen are counted as they do, and nothing is allocated for it; those
 * that stand somewhere are read when a snapshot is taken.
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
} from './backend-metrics.js';

/** The route of every call that is passed on as it is: what its path is was made up by whoever calls. */
export const PASS_THROUGH = 'pass-through';

export interface ProxyMetricsOptions {
  readonly version: string;
  /** How many combinations of label values a metric may have. @default 1000 */
  readonly maxLabelSets?: number | undefined;
  readonly loopLag?: LoopLag;
}

export class ProxyMetrics {
  /** `started(route)` and `ended(route, status, durationMs)`; the route is the path of a batched method, else `PASS_THROUGH`. */
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
   * Shows the batcher of a method, whose name must be the path, until the function that is returned is
   * called; then nothing of the method is shown any more, so that paths that callers make up leave nothing
   * behind. Another one for the same path takes the place of the former, and the counters go on.
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

  /** Shows a backend until it is forgotten. One of the same name takes the place of the former, and its counters go on. */
  watchBackend(name: string, state: () => BackendState): BackendMetrics {
    const backend = new BackendMetrics(this.#backendInstruments, name, state, () => this.#forget(backend));
    this.#backends.set(name, backend);
    return backend;
  }

  snapshot(): MetricsSnapshot {
    return this.#registry.snapshot();
  }

  /** Listens and measures no longer. */
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
