/** Latency, goodput and backend time of a run. */
import type { BatchRun, Run } from './simulate.js';

export interface Measures {
  readonly items: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Share of all items with a response within the target. */
  readonly goodput: number;
  /** Share of all items without a response. */
  readonly refused: number;
  /** Share of the responses within the target. */
  readonly onTime: number;
  readonly busyMs: number;
  readonly batches: number;
  readonly meanBatchSize: number;
}

/** Measures the items of a run from index `from` on. */
export function measure(run: Run, from = 0): Measures {
  const { latencyMs, scenario } = run;
  const counted = latencyMs.subarray(from);
  const answered = counted.filter((ms) => !Number.isNaN(ms)).sort();
  let sum = 0;
  let onTime = 0;
  const latencyLimitMs = allowedMs(scenario.targetLatencyMs);
  for (const ms of answered) {
    sum += ms;
    if (ms <= latencyLimitMs) onTime += 1;
  }
  const batches = from === 0 ? run.batches : run.batches.filter(({ first }) => first >= from);
  let busyMs = 0;
  let batched = 0;
  for (const { durationMs, size } of batches) {
    busyMs += durationMs;
    batched += size;
  }
  return {
    items: counted.length,
    meanMs: sum / answered.length,
    p50Ms: percentile(answered, 0.5),
    p99Ms: percentile(answered, 0.99),
    goodput: onTime / counted.length,
    refused: 1 - answered.length / counted.length,
    onTime: onTime / answered.length,
    busyMs,
    batches: batches.length,
    meanBatchSize: batched / batches.length,
  };
}

/** The largest latency that meets a target; tolerates the rounding of floating-point sums. */
export function allowedMs(targetLatencyMs: number): number {
  return targetLatencyMs * (1 + 1e-9);
}

/** The index of the first item that arrives after `batches` batches have started. */
export function itemAfterBatches(run: Run, batches: number): number {
  return (run.batches[batches] as BatchRun | undefined)?.itemsBefore ?? run.latencyMs.length;
}

/** The index of the first item that arrives at or after `measureFromMs`. */
export function firstItemFrom({ arrivedAt, scenario: { measureFromMs = 0 } }: Run): number {
  const first = arrivedAt.findIndex((at) => at >= measureFromMs);
  return first < 0 ? arrivedAt.length : first;
}

/** `sorted` must be in ascending order. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
