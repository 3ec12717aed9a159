/** The runners that a process shows: their batches as they end, and their books whenever a snapshot is taken. */
import { type BatchRecord, onBatch } from 'batchwise';
import type { Registry } from './registry.js';
import type { RunnerInstruments } from './runner-instruments.js';
import { RunnerMetrics, type WatchedRunner } from './runner-metrics.js';

export class WatchedRunners {
  readonly #instruments: RunnerInstruments;
  readonly #runners = new Map<string, RunnerMetrics>();
  /** One that is watched again must not have all it ever did counted twice. */
  readonly #everWatched = new WeakMap<WatchedRunner, RunnerMetrics>();
  readonly #stopListening: () => void;

  constructor(registry: Registry, instruments: RunnerInstruments) {
    this.#instruments = instruments;
    registry.onCollect(() => {
      for (const runner of this.#runners.values()) runner.collect();
    });
    // One listener for all runners: with one each, every batch would be looked at by all of them.
    this.#stopListening = onBatch((batch: BatchRecord) => this.#runners.get(batch.name)?.batchEnded(batch));
  }

  /**
   * Shows a runner, until the function that is returned is called. The same runner again: its batches may
   * now be of another size. Another of the same name: it takes the place of the first, and its counters go on.
   */
  watch(runner: WatchedRunner, maxBatchSize: number): () => void {
    const watched = this.#metricsOf(runner);
    const former = this.#runners.get(runner.name);
    if (former !== watched) former?.end();
    watched.setMaxBatchSize(maxBatchSize);
    this.#runners.set(runner.name, watched);
    return () => this.#unwatch(watched);
  }

  /** A batch of this runner has started that its batcher counts as 1: how many rows it has. */
  wholeStarted(runner: string, rows: number): void {
    this.#runners.get(runner)?.wholeStarted(rows);
  }

  /** Listens to batches no longer. */
  close(): void {
    this.#stopListening();
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
