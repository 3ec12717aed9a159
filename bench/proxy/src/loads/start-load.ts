/** The three kinds of load: closed loop, Poisson arrivals and bursts. */
import { nowMs, setTimer } from '@batchwise/bench-harness';
import { collectIn } from '../collection.js';
import type { Load } from '../load.js';
import type { Tally } from './tally.js';

export function startLoad(load: Load, tally: Tally): void {
  switch (load.kind) {
    case 'closed':
      for (let caller = 0; caller < load.callers; caller++) callInLoop(tally);
      break;
    case 'open':
      arrive(tally, load.perSecond / 1000, nowMs());
      break;
    case 'bursts':
      burst(tally, load, seeded(BURST_SEED));
      break;
  }
}

/** A caller that waits for its response before the next request. */
function callInLoop(tally: Tally): void {
  if (!tally.isOver) tally.send(nowMs(), () => callInLoop(tally));
}

/** Sends all requests that are due, each measured from its due time, and sets a timer for the next one. */
function arrive(tally: Tally, perMs: number, nextAt: number): void {
  if (tally.isOver) return;
  let dueAt = nextAt;
  while (dueAt <= nowMs()) {
    tally.send(dueAt, () => {});
    dueAt += -Math.log(1 - Math.random()) / perMs;
  }
  setTimer(() => arrive(tally, perMs, dueAt), dueAt - nowMs());
}

/** The sizes of the bursts are the same for every contender, because latencies are compared burst by burst. */
function burst(tally: Tally, load: Load & { readonly kind: 'bursts' }, random: () => number): void {
  if (tally.isOver) return;
  const count = 1 + Math.floor(load.mostItems * random());
  const sentAt = nowMs();
  for (let item = 0; item < count; item++) tally.send(sentAt, () => {});
  collectIn(load.everyMs / 2);
  setTimer(() => burst(tally, load, random), load.everyMs);
}

const BURST_SEED = 2026;

/** mulberry32 */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
