/**
 * The time per item at different queue lengths. A gate holds the only slot while `queued` items are submitted; then it
 * opens, and all batches but the last one end. The last one is the gate of the next repetition, so each repetition
 * measures exactly its own items and batches.
 */
import { Batcher } from 'batchwise';
import { nowMs, nsEach } from '../stopwatch.js';
import { collectGarbage } from './collect-garbage.js';
import { CollectorWatch } from './collector-watch.js';
import { Gate } from './gate.js';

export interface DepthParams {
  readonly kind: DepthKind;
  readonly depths: readonly number[];
  /** Short queues are filled again until this many items are completed. */
  readonly minItems: number;
}

export type DepthKind = 'submit' | 'submit with a deadline' | 'bare promises';

export interface DepthResult {
  readonly queued: number;
  readonly submitNs: number;
  readonly drainNs: number;
  readonly totalNs: number;
  /** The part of the total in garbage-collection pauses. */
  readonly collectorNs: number;
}

/** The same at all queue lengths, so that the overhead of a batch is shared by the same number of items. */
const BATCH_SIZE = 10;
/** Several short queues are measured together, so that this number of items shares one reading of the clock. */
const ITEMS_PER_READING = 1000;
/** So long that no item is rejected, although the batches at the gate take very long. */
const TIMEOUT_MS = 1e9;
const WARMUP_ITEMS = 300_000;

export async function run({ kind, depths, minItems }: DepthParams): Promise<DepthResult[]> {
  const collector = new CollectorWatch();
  const results: DepthResult[] = [];
  for (const queued of depths) results.push(await measure(kind, queued, minItems, collector));
  return results;
}

async function measure(
  kind: DepthKind,
  queued: number,
  minItems: number,
  collector: CollectorWatch,
): Promise<DepthResult> {
  // First, because the compiled code of a batcher is discarded when the batcher is collected.
  collectGarbage();
  const queues = new Queues(kind, Math.ceil(ITEMS_PER_READING / queued));
  await queues.begin();
  await cycle(queues, Math.min(queued, ITEMS_PER_READING), WARMUP_ITEMS);
  collector.reset();
  const { items, submitMs, drainMs } = await cycle(queues, queued, minItems);
  const collectorMs = await collector.total();
  return {
    queued,
    submitNs: nsEach(submitMs, items),
    drainNs: nsEach(drainMs, items),
    totalNs: nsEach(submitMs + drainMs, items),
    collectorNs: nsEach(collectorMs, items),
  };
}

/** Fills and drains until `minItems` items are completed. */
async function cycle(
  queues: Queues,
  queued: number,
  minItems: number,
): Promise<{ items: number; submitMs: number; drainMs: number }> {
  let items = 0;
  let submitMs = 0;
  let drainMs = 0;
  while (items < minItems) {
    const startedAt = nowMs();
    queues.fill(queued);
    const filledAt = nowMs();
    const drainedAt = await queues.drain();
    submitMs += filledAt - startedAt;
    drainMs += drainedAt - filledAt;
    items += queues.count * queued;
  }
  return { items, submitMs, drainMs };
}

interface Queue {
  fill(count: number): void;
  /** Releases the items; `onLast` is called at the dispatch of the last one. */
  open(): void;
}

/** Equal queues, filled and drained together. */
class Queues {
  readonly count: number;
  readonly #queues: readonly Queue[];
  #undrained = 0;
  #drained: (at: number) => void = () => {};

  constructor(kind: DepthKind, count: number) {
    const onLast = (): void => this.#lastDispatched();
    this.count = count;
    this.#queues = Array.from({ length: count }, () =>
      kind === 'bare promises' ? new BareQueue(onLast) : new GatedQueue(kind !== 'submit', onLast),
    );
  }

  /** Starts each queue with its first batch at the gate. */
  async begin(): Promise<void> {
    const drained = this.#whenDrained();
    this.fill(BATCH_SIZE);
    for (const queue of this.#queues) queue.open();
    await drained;
  }

  fill(count: number): void {
    for (const queue of this.#queues) queue.fill(count);
  }

  /** Resolves to the time of the last dispatch; later work belongs to the benchmark. */
  drain(): Promise<number> {
    const drained = this.#whenDrained();
    for (const queue of this.#queues) queue.open();
    return drained;
  }

  #whenDrained(): Promise<number> {
    this.#undrained = this.count;
    return new Promise((resolve) => {
      this.#drained = resolve;
    });
  }

  #lastDispatched(): void {
    this.#undrained -= 1;
    if (this.#undrained === 0) this.#drained(nowMs());
  }
}

class GatedQueue implements Queue {
  readonly #withDeadlines: boolean;
  readonly #onLast: () => void;
  readonly #batcher = new Batcher((items: number[]) => this.#handle(items), { maxBatchSize: BATCH_SIZE });
  #submitted = 0;
  #handled = 0;
  #gate: Gate | undefined = undefined;

  constructor(withDeadlines: boolean, onLast: () => void) {
    this.#withDeadlines = withDeadlines;
    this.#onLast = onLast;
  }

  fill(count: number): void {
    this.#submitted += count;
    // A new options object per call, as in application code.
    if (this.#withDeadlines) {
      for (let i = 0; i < count; i++) void this.#batcher.submit(i, { timeoutMs: TIMEOUT_MS });
    } else {
      for (let i = 0; i < count; i++) void this.#batcher.submit(i);
    }
  }

  open(): void {
    this.#gate?.open();
  }

  async #handle(items: number[]): Promise<number[]> {
    this.#handled += items.length;
    if (this.#handled === this.#submitted) {
      this.#gate = new Gate();
      this.#onLast();
      await this.#gate.opened;
    }
    return items;
  }
}

/** Promises whose `resolve` is kept in an array: the share of the JavaScript engine in the result. */
class BareQueue implements Queue {
  readonly #onLast: () => void;
  #waiting: ((result: number) => void)[] = [];

  constructor(onLast: () => void) {
    this.#onLast = onLast;
  }

  fill(count: number): void {
    for (let i = 0; i < count; i++) void new Promise<number>((resolve) => this.#waiting.push(resolve));
  }

  open(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let i = 0; i < waiting.length; i++) waiting[i]?.(i);
    this.#onLast();
  }
}
