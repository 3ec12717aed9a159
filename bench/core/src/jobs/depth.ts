/**
 * What an item costs at different depths of the queue. The only slot is held by a gate while `queued`
 * items are submitted; then it opens and all but the last batch are drained. The last one is the gate of
 * the next repetition, so each repetition pays for exactly its items and its batches, and nothing else.
 */
import { Batcher } from 'batchwise';
import { nowMs, nsEach } from '../stopwatch.js';
import { collectGarbage } from './collect-garbage.js';
import { CollectorWatch } from './collector-watch.js';
import { Gate } from './gate.js';

export interface DepthParams {
  readonly kind: DepthKind;
  readonly depths: readonly number[];
  /** Shallow queues are filled again until this many items have gone through. */
  readonly minItems: number;
}

export type DepthKind = 'submit' | 'submit with a deadline' | 'bare promises';

export interface DepthResult {
  readonly queued: number;
  readonly submitNs: number;
  readonly drainNs: number;
  readonly totalNs: number;
  /** The part of the total for which the garbage collector stopped everything else. */
  readonly collectorNs: number;
}

/** The same at all depths, and no larger than the smallest: what a batch costs is always shared by as many. */
const BATCH_SIZE = 10;
/** Shallow queues are measured several side by side, so that reading the clock is shared by as many items. */
const ITEMS_A_READING = 1000;
/** So late that it is never refused, whatever the batches held by the gate seem to take. */
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
  // First, because code that was compiled for a batcher goes when that batcher is collected.
  collectGarbage();
  const queues = new Queues(kind, Math.ceil(ITEMS_A_READING / queued));
  await queues.begin();
  await cycle(queues, Math.min(queued, ITEMS_A_READING), WARMUP_ITEMS);
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

/** Fills and drains until `minItems` have gone through. */
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
  /** Lets out what is in it; says so when the last is on its way. */
  open(): void;
}

/** Equal queues, filled and drained together. */
class Queues {
  readonly count: number;
  readonly #queues: readonly Queue[];
  #undrained = 0;
  #drained: (at: number) => void = () => {};

  constructor(kind: DepthKind, count: number) {
    const onLast = (): void => this.#lastLeft();
    this.count = count;
    this.#queues = Array.from({ length: count }, () =>
      kind === 'bare promises' ? new BareQueue(onLast) : new GatedQueue(kind !== 'submit', onLast),
    );
  }

  /** Each with its first batch at the gate. */
  async begin(): Promise<void> {
    const drained = this.#whenDrained();
    this.fill(BATCH_SIZE);
    for (const queue of this.#queues) queue.open();
    await drained;
  }

  fill(count: number): void {
    for (const queue of this.#queues) queue.fill(count);
  }

  /** Resolves to the time when the last item was on its way: what comes after is the bench's, not the queue's. */
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

  #lastLeft(): void {
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
    // The options are written out at each call, as callers do.
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

/** Promises whose `resolve` waits in an array: how much of what is seen is the engine's own doing. */
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
