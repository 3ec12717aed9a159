/** The contenders of the closed loop: ways of submitting to this batcher, and its peers. */
import { create, maxBatchSizeScheduler } from '@yornaath/batshit';
import { Batcher, onBatch } from 'batchwise';
import DataLoader from 'dataloader';
import { bareSignalLoop, keptSignalLoop } from './bare-signal-loop.js';
import { BATCH_SIZE, closedLoop, echo, type Submit } from './closed-loop.js';
import type { Metered, Timing } from './meter.js';
import { sinkLoop } from './sink-loop.js';

const { POSITIVE_INFINITY } = Number;

/** The function with which a caller submits an item. Created once per process. */
const callers = {
  dataloader: newLoader,
  unlimited: () => {
    const batcher = newBatcher(POSITIVE_INFINITY);
    return (item) => batcher.submit(item);
  },
  'one slot': () => {
    const batcher = newBatcher(1);
    return (item) => batcher.submit(item);
  },
  'deadline, priority, subscriber': () => {
    const batcher = watchedBatcher(POSITIVE_INFINITY);
    return (item) => batcher.submit(item, { timeoutMs: 10_000, priority: 1 });
  },
  // Requests from other processes have different deadlines.
  'deadlines and priorities that differ': () => {
    const batcher = watchedBatcher(POSITIVE_INFINITY);
    return (item) => batcher.submit(item, { timeoutMs: 10_000 + (item % 997), priority: item % 3 });
  },
  'the same with one slot': () => {
    const batcher = watchedBatcher(1);
    return (item) => batcher.submit(item, { timeoutMs: 10_000 + (item % 997), priority: item % 3 });
  },
  'shared signal': () => {
    const batcher = newBatcher(POSITIVE_INFINITY);
    const { signal } = new AbortController();
    return (item) => batcher.submit(item, { signal });
  },
  'own signal': () => {
    const batcher = newBatcher(POSITIVE_INFINITY);
    return (item) => batcher.submit(item, { signal: new AbortController().signal });
  },
  // The first batches of a batcher with a limit run in an async context, which slows down all promises before Node 24.
  'dataloader after one slot': () => {
    const batcher = newBatcher(1);
    for (let item = 0; item < BATCH_SIZE; item++) void batcher.submit(item);
    return newLoader();
  },
  batshit: () => {
    const batcher = create({
      fetcher: (items: number[]) => echo(items),
      // The cheapest possible resolver; those of batshit search an array or a record.
      resolver: (_answers: readonly number[], item: number) => item,
      scheduler: maxBatchSizeScheduler({ maxBatchSize: BATCH_SIZE }),
    });
    return (item) => batcher.fetch(item);
  },
  'bare promises': barePromises,
} satisfies Record<string, () => Submit>;

/** Contenders with other loops than callers that await promises. */
const loops = {
  sinks: (timing: Timing) => sinkLoop(newBatcher(POSITIVE_INFINITY), timing),
  'bare signal': bareSignalLoop,
  'bare signal, kept': keptSignalLoop,
};

export type PathName = keyof typeof callers | keyof typeof loops;

export function runPath(name: PathName, timing: Timing): Promise<Metered> {
  return name in loops
    ? loops[name as keyof typeof loops](timing)
    : closedLoop(callers[name as keyof typeof callers](), timing);
}

function newBatcher(concurrency: number): Batcher<number, number> {
  return new Batcher(echo, { maxBatchSize: BATCH_SIZE, concurrency });
}

function newLoader(): Submit {
  const loader = new DataLoader<number, number>(echo, { cache: false, maxBatchSize: BATCH_SIZE });
  return (item) => loader.load(item);
}

function watchedBatcher(concurrency: number): Batcher<number, number> {
  onBatch(({ failed }) => {
    if (failed > 0) throw new Error('unexpected failure');
  });
  return newBatcher(concurrency);
}

/** One promise per item, without partial batches, errors and limits: the lower bound. */
function barePromises(): Submit {
  let items: number[] = [];
  let resolves: ((result: number) => void)[] = [];

  async function dispatch(): Promise<void> {
    const pending = resolves;
    const batch = items;
    items = [];
    resolves = [];
    const results = await echo(batch);
    for (let i = 0; i < pending.length; i++) pending[i]?.(results[i] as number);
  }

  return (item) =>
    new Promise((resolve) => {
      items.push(item);
      resolves.push(resolve);
      if (items.length === BATCH_SIZE) void dispatch();
    });
}
