/** The time to cancel a queued item: a random half of the queue, in random order. */
import type { Sink, Ticket } from 'batchwise';
import { nowMs, nsEach } from '../stopwatch.js';
import { collectGarbage } from './collect-garbage.js';
import { heldBatcher } from './held-batcher.js';

export interface CancelParams {
  readonly depths: readonly number[];
  /** Short queues are filled again until this many items have been cancelled. */
  readonly minCancels: number;
}

export interface CancelResult {
  readonly depths: readonly { readonly queued: number; readonly cancelNs: number }[];
}

const WARMUP_DEPTH = 1000;

export async function run({ depths, minCancels }: CancelParams): Promise<CancelResult> {
  await measure(WARMUP_DEPTH, minCancels);
  const results = [];
  for (const queued of depths) {
    collectGarbage();
    results.push({ queued, cancelNs: await measure(queued, minCancels) });
  }
  return { depths: results };
}

async function measure(queued: number, minCancels: number): Promise<number> {
  const half = queued >> 1;
  const times = Math.ceil(minCancels / half);
  let elapsedMs = 0;
  for (let i = 0; i < times; i++) {
    const batcher = await heldBatcher();
    const tickets = shuffled(Array.from({ length: queued }, (_, item) => batcher.enqueue(item, sink)));
    // A turn of the event loop, as between a submit and its cancellation in practice.
    await new Promise(setImmediate);
    const startedAt = nowMs();
    for (let j = 0; j < half; j++) tickets[j]?.cancel();
    elapsedMs += nowMs() - startedAt;
    const { queued: remaining } = batcher.stats();
    if (remaining !== queued - half) throw new Error(`${remaining} of ${queued} items remain`);
  }
  return nsEach(elapsedMs, times * half);
}

/** The same order in each run. */
let seed = 88_172_645;
function nextRandom(below: number): number {
  seed ^= seed << 13;
  seed ^= seed >>> 17;
  seed ^= seed << 5;
  return (seed >>> 0) % below;
}

function shuffled(tickets: Ticket[]): Ticket[] {
  for (let i = tickets.length - 1; i > 0; i--) {
    const j = nextRandom(i + 1);
    const other = tickets[j] as Ticket;
    tickets[j] = tickets[i] as Ticket;
    tickets[i] = other;
  }
  return tickets;
}

const sink: Sink<number> = { resolve: () => {}, reject: () => {} };
