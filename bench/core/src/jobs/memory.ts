/** The heap memory of a queued item, including its promise, queue entry and deadline. */
import type { Batcher, Sink } from 'batchwise';
import { collectGarbage } from './collect-garbage.js';
import { heldBatcher } from './held-batcher.js';

export interface MemoryParams {
  readonly kind: MemoryKind;
  readonly queued: number;
}

export type MemoryKind =
  | 'submit'
  | 'submit with timeoutMs'
  | 'submit with priority'
  | 'enqueue'
  | 'bare promise';

export async function run({ kind, queued }: MemoryParams): Promise<{ bytesEach: number }> {
  const batcher = await heldBatcher();
  const add = adder(kind, batcher, queued);
  const before = heapUsed();
  for (let i = 0; i < queued; i++) add(i);
  const after = heapUsed();
  const { queued: inQueue } = batcher.stats();
  if (kind !== 'bare promise' && inQueue !== queued)
    throw new Error(`${inQueue} of ${queued} items are queued`);
  add(0); // keeps the closure and its items alive until after the measurement
  return { bytesEach: (after - before) / queued };
}

function adder(kind: MemoryKind, batcher: Batcher<number, number>, queued: number): (item: number) => void {
  switch (kind) {
    case 'submit':
      return (item) => void batcher.submit(item);
    case 'submit with timeoutMs':
      return (item) => void batcher.submit(item, { timeoutMs: 1e9 });
    case 'submit with priority':
      return (item) => void batcher.submit(item, { priority: item % 3 });
    case 'enqueue':
      return (item) => void batcher.enqueue(item, sink);
    case 'bare promise':
      return keeper(queued);
  }
}

/** Stores the `resolve` of a promise per item, in an array that is allocated before the measurement. */
function keeper(queued: number): (item: number) => void {
  const resolves = new Array<unknown>(queued).fill(0);
  return (item) => {
    void new Promise((resolve) => {
      resolves[item] = resolve;
    });
  };
}

const sink: Sink<number> = {
  resolve: () => {},
  reject: (error) => {
    throw error;
  },
};

function heapUsed(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
