/** Exports the runners of a process: their batches as they end, and their statistics at each snapshot. */
import { type BatchRecord, onBatch } from 'batchwise';
import type { Registry } from './registry.js';
import type { RunnerInstruments } from './runner-instruments.js';
import { RunnerMetrics, type WatchedRunner } from './runner-metrics.js';

export class WatchedRunners {
  readonly #instruments: RunnerInstruments;
  readonly #runners = new Map<string, RunnerMetrics>();
  /** A runner that is watched again continues its counters, so that nothing is counted twice. */
  readonly #metricsByRunner = new WeakMap<WatchedRunner, RunnerMetrics>();
  readonly #stopListening: () => void;

  constructor(registry: Registry, instruments: RunnerInstruments) {
    this.#instruments = instruments;
    registry.onCollect(() => {
      for (const runner of this.#runners.values()) runner.collect();
    });
    // One listener for all runners: with one listener each, every batch would be passed to all of them.
    this.#stopListening = onBatch((batch: BatchRecord) => this.#runners.get(batch.name)?.batchEnded(batch));
  }

  /**
   * Exports a runner until the returned function is called. Called again for the same runner, it changes the maximum
   * batch size. Another runner of the same name replaces the first and continues its counters.
   */
  watch(runner: WatchedRunner, maxBatchSize: number): () => void {
    const watched = this.#metricsOf(runner);
    const previous = this.#runners.get(runner.name);
    if (previous !== watched) previous?.end();
    watched.setMaxBatchSize(maxBatchSize);
    this.#runners.set(runner.name, watched);
    return () => this.#unwatch(watched);
  }

  /** A batch of this runner has started that the batcher counts as 1. `rows` is its number of rows. */
  wholeStarted(runner: string, rows: number): void {
    this.#runners.get(runner)?.wholeStarted(rows);
  }

  /** Stops listening to batches. */
  close(): void {
    this.#stopListening();
  }

  #metricsOf(runner: WatchedRunner): RunnerMetrics {
    const metrics = this.#metricsByRunner.get(runner) ?? new RunnerMetrics(this.#instruments, runner);
    this.#metricsByRunner.set(runner, metrics);
    return metrics;
  }

  #unwatch(watched: RunnerMetrics): void {
    const { name } = watched.runner;
    if (this.#runners.get(name) !== watched) return;
    watched.end();
    this.#runners.delete(name);
  }
}
