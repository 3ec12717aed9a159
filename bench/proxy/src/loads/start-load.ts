/** The three ways in which requests come. */
import { nowMs, setTimer } from '@batchwise/bench-harness';
import { collectIn } from '../collection.js';
import type { Load } from '../load.js';
import type { Tally } from './tally.js';

export function startLoad(load: Load, tally: Tally): void {
  switch (load.kind) {
    case 'closed':
      for (let caller = 0; caller < load.callers; caller++) askAgain(tally);
      break;
    case 'open':
      arrive(tally, load.perSecond / 1000, nowMs());
      break;
    case 'bursts':
      burst(tally, load, seeded(BURST_SEED));
      break;
  }
}

/** A caller who waits for an answer before asking again. */
function askAgain(tally: Tally): void {
  if (!tally.isOver) tally.ask(nowMs(), () => askAgain(tally));
}

/** All that are due by now, each timed from when it was due, and a timer for the next. */
function arrive(tally: Tally, perMs: number, nextAt: number): void {
  if (tally.isOver) return;
  let dueAt = nextAt;
  while (dueAt <= nowMs()) {
    tally.ask(dueAt, () => {});
    dueAt += -Math.log(1 - Math.random()) / perMs;
  }
  setTimer(() => arrive(tally, perMs, dueAt), dueAt - nowMs());
}

/** Whoever is measured gets bursts of the same sizes: what is added to a burst is compared with that burst. */
function burst(tally: Tally, load: Load & { readonly kind: 'bursts' }, random: () => number): void {
  if (tally.isOver) return;
  const count = 1 + Math.floor(load.mostItems * random());
  const sentAt = nowMs();
  for (let item = 0; item < count; item++) tally.ask(sentAt, () => {});
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
