/**
 * The metrics of one runner: batches are recorded as they end, the rest is read from the batcher's statistics at each
 * snapshot.
 */
import type { BatcherStats, BatchRecord } from 'batchwise';
import { sizeBounds } from './buckets.js';
import { curveBySize } from './curve-by-size.js';
import type { HistogramChild } from './histogram.js';
import type { RunnerInstruments } from './runner-instruments.js';
import { RunningTotals } from './running-totals.js';

/** The part of a runner that the metrics need. */
export interface WatchedRunner {
  readonly name: string;
  /** The statistics of the batcher; undefined if it is in another process. */
  stats(): BatcherStats | undefined;
}

const ITEM_OUTCOMES = ['succeeded', 'failed', 'refused', 'cancelled', 'expired'] as const;
/**
 * Exported from the start, because Prometheus detects an increase only for an existing series. Other codes are
 * exported when they occur.
 */
const COMMON_REFUSALS = { QUEUE_FULL: 0, OVERLOADED: 0 };

export class RunnerMetrics {
  readonly #runner: WatchedRunner;
  readonly #instruments: RunnerInstruments;
  readonly #batchSize: HistogramChild;
  readonly #queueWait: HistogramChild;
  readonly #compute: HistogramChild;
  readonly #totals = new RunningTotals();
  /** The rows of running batches that the batcher counts as 1. */
  readonly #wholes: number[] = [];
  #sizes: readonly number[] = [];

  constructor(instruments: RunnerInstruments, runner: WatchedRunner) {
    this.#instruments = instruments;
    this.#runner = runner;
    this.#batchSize = instruments.batchSize.labels(runner.name);
    this.#queueWait = instruments.queueWait.labels(runner.name);
    this.#compute = instruments.compute.labels(runner.name);
  }

  get runner(): WatchedRunner {
    return this.#runner;
  }

  setMaxBatchSize(maxBatchSize: number): void {
    this.#setCurve(undefined);
    this.#sizes = sizeBounds(maxBatchSize);
    this.#batchSize.cover(this.#sizes);
  }

  /** A batch of one request has started. The batcher counts it as 1 whatever its rows. */
  wholeStarted(rows: number): void {
    this.#wholes.push(rows);
  }

  /** Called by the batcher on its hot path: no lookup, no allocation. */
  batchEnded({ size, cost, durationMs, waitsMs }: BatchRecord): void {
    // With concurrent batches the rows may be those of another batch, but each is counted once, and the histogram is
    // the same.
    const rows = size === 1 && this.#wholes.length > 0 ? (this.#wholes.pop() as number) : cost;
    this.#batchSize.observe(rows);
    this.#compute.observe(durationMs / 1000);
    for (let i = 0; i < waitsMs.length; i++) this.#queueWait.observe((waitsMs[i] as number) / 1000);
  }

  collect(): void {
    const stats = this.#runner.stats();
    this.#count(stats);
    this.#setGauges(stats);
  }

  /** Updates the counters for the last time and removes the gauges. */
  end(): void {
    this.#count(this.#runner.stats());
    this.#setGauges(undefined);
  }

  #count(stats: BatcherStats | undefined): void {
    if (stats === undefined) return;
    const { name } = this.#runner;
    const { batches, items, refusals } = this.#instruments;
    for (const [reason, total] of Object.entries(stats.reasons)) {
      this.#totals.follow(batches.labels(name, reason), `batches: ${reason}`, total);
    }
    for (const outcome of ITEM_OUTCOMES) {
      this.#totals.follow(items.labels(name, outcome), `items: ${outcome}`, stats[outcome]);
    }
    for (const [code, total] of Object.entries({ ...COMMON_REFUSALS, ...stats.refusals })) {
      this.#totals.follow(refusals.labels(name, code.toLowerCase()), `refusals: ${code}`, total);
    }
  }

  #setGauges(stats: BatcherStats | undefined): void {
    const { name } = this.#runner;
    const { queueDepth, queueOldest, inFlight, batchesRunning, arrivals } = this.#instruments;
    queueDepth.labels(name).set(stats?.queued);
    queueOldest.labels(name).set(inSeconds(stats?.oldestWaitMs));
    inFlight.labels(name).set(stats?.running);
    batchesRunning.labels(name).set(stats?.batchesRunning);
    arrivals.labels(name).set(stats?.arrivalsPerSecond);
    this.#setCurve(stats);
  }

  #setCurve(stats: BatcherStats | undefined): void {
    const durations = curveBySize(stats?.curve ?? [], this.#sizes);
    this.#sizes.forEach((size, i) => {
      this.#instruments.curve.labels(this.#runner.name, String(size)).set(inSeconds(durations[i]));
    });
  }
}

function inSeconds(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : ms / 1000;
}
