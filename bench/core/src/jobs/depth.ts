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
const WARMUP_DEPTH = 1000;
/** So late that it is never refused, whatever the batches held by the gate seem to take. */
const TIMEOUT_MS = 1e9;

export async function run({ kind, depths, minItems }: DepthParams): Promise<DepthResult[]> {
  const collector = new CollectorWatch();
  const queue = kind === 'bare promises' ? new BareQueue() : new GatedQueue(kind !== 'submit');
  await queue.begin();
  await measure(queue, WARMUP_DEPTH, Math.max(minItems, 200_000), collector);
  const results: DepthResult[] = [];
  for (const queued of depths) {
    collectGarbage();
    results.push(await measure(queue, queued, minItems, collector));
  }
  return results;
}

interface Queue {
  begin(): Promise<void>;
  fill(count: number): void;
  /** Resolves to the time when the last item was on its way. */
  drain(): Promise<number>;
}

async function measure(
  queue: Queue,
  queued: number,
  minItems: number,
  collector: CollectorWatch,
): Promise<DepthResult> {
  collector.reset();
  const times = Math.ceil(minItems / queued);
  let submitMs = 0;
  let drainMs = 0;
  for (let i = 0; i < times; i++) {
    const startedAt = nowMs();
    queue.fill(queued);
    const filledAt = nowMs();
    const drainedAt = await queue.drain();
    submitMs += filledAt - startedAt;
    drainMs += drainedAt - filledAt;
  }
  const items = times * queued;
  const collectorMs = await collector.total();
  return {
    queued,
    submitNs: nsEach(submitMs, items),
    drainNs: nsEach(drainMs, items),
    totalNs: nsEach(submitMs + drainMs, items),
    collectorNs: nsEach(collectorMs, items),
  };
}

class GatedQueue implements Queue {
  readonly #withDeadlines: boolean;
  readonly #batcher = new Batcher((items: number[]) => this.#handle(items), { maxBatchSize: BATCH_SIZE });
  #submitted = 0;
  #handled = 0;
  #gate = new Gate();
  #lastLeft: (at: number) => void = () => {};

  constructor(withDeadlines: boolean) {
    this.#withDeadlines = withDeadlines;
  }

  async begin(): Promise<void> {
    const lastLeft = this.#whenLastLeft();
    this.fill(BATCH_SIZE);
    await lastLeft;
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

  drain(): Promise<number> {
    const lastLeft = this.#whenLastLeft();
    this.#gate.open();
    return lastLeft;
  }

  #whenLastLeft(): Promise<number> {
    return new Promise((resolve) => {
      this.#lastLeft = resolve;
    });
  }

  async #handle(items: number[]): Promise<number[]> {
    this.#handled += items.length;
    if (this.#handled === this.#submitted) {
      // The time is taken here: what the bench does between repetitions is not the queue's.
      this.#lastLeft(nowMs());
      this.#gate = new Gate();
      await this.#gate.opened;
    }
    return items;
  }
}

/** Promises whose `resolve` waits in an array: how much of what is seen is the engine's own doing. */
class BareQueue implements Queue {
  #waiting: ((result: number) => void)[] = [];

  async begin(): Promise<void> {}

  fill(count: number): void {
    for (let i = 0; i < count; i++) void new Promise<number>((resolve) => this.#waiting.push(resolve));
  }

  async drain(): Promise<number> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (let i = 0; i < waiting.length; i++) waiting[i]?.(i);
    return nowMs();
  }
}
