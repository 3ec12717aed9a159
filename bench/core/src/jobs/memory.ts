/** How much heap a waiting item keeps, everything included: promise, place in the queue, deadline. */
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
  const { queued: waiting } = batcher.stats();
  if (kind !== 'bare promise' && waiting !== queued) throw new Error(`${waiting} of ${queued} are waiting`);
  add(0); // or it could have been collected before the weighing, and what it keeps with it
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

/** Keeps the `resolve` of a promise an item, in an array that is there before the weighing starts. */
function keeper(queued: number): (item: number) => void {
  const waiting = new Array<unknown>(queued).fill(0);
  return (item) => {
    void new Promise((resolve) => {
      waiting[item] = resolve;
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
