/** What a run comes to, in numbers. */
import type { BatchRun, Run } from './simulate.js';

export interface Measures {
  /** Items that were counted. */
  readonly items: number;
  readonly meanMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The share of all items that were answered within the target. */
  readonly goodput: number;
  /** The share of all items that got no answer. */
  readonly refused: number;
  /** Of the answers: the share within the target. */
  readonly onTime: number;
  readonly busyMs: number;
  readonly batches: number;
  readonly meanBatchSize: number;
}

/** Measures a run, from the item with this index on. */
export function measure(run: Run, from = 0): Measures {
  const { latencyMs, scenario } = run;
  const counted = latencyMs.subarray(from);
  const answered = counted.filter((ms) => !Number.isNaN(ms)).sort();
  let sum = 0;
  let inTime = 0;
  for (const ms of answered) {
    sum += ms;
    // Sums of fractions are off by a hair.
    if (ms <= scenario.targetMs * (1 + 1e-9)) inTime += 1;
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
    goodput: inTime / counted.length,
    refused: 1 - answered.length / counted.length,
    onTime: inTime / answered.length,
    busyMs,
    batches: batches.length,
    meanBatchSize: batched / batches.length,
  };
}

/** The index of the first item that comes after so many batches have started. */
export function itemAfterBatches(run: Run, batches: number): number {
  return (run.batches[batches] as BatchRun | undefined)?.itemsBefore ?? run.latencyMs.length;
}

/** The index of the first item that is to be measured. */
export function firstItemFrom({ arrivedAt, scenario: { measureFromMs = 0 } }: Run): number {
  const first = arrivedAt.findIndex((at) => at >= measureFromMs);
  return first < 0 ? arrivedAt.length : first;
}

/** `sorted` by rising value. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}
