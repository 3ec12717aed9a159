/** The real clock, and variants with another end of the turn. */
import { type Clock, realClock } from 'batchwise';

export type Turn = 'setImmediate' | 'nextTick' | 'microtask';

export const turnClocks: Readonly<Record<Turn, Clock>> = {
  setImmediate: realClock,
  nextTick: { ...realClock, defer: (callback) => process.nextTick(callback) },
  microtask: { ...realClock, defer: (callback) => queueMicrotask(callback) },
};

export interface TurnResult {
  readonly perSecond: number;
  readonly meanBatchSize: number;
}

interface Dispatched {
  readonly batches: number;
  readonly batchedItems: number;
}

export function meanBatchSize(before: Dispatched, after: Dispatched): number {
  return (after.batchedItems - before.batchedItems) / (after.batches - before.batches);
}
