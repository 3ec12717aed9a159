/** The three ways in which requests come. */
import { nowMs, setTimer } from '@batchwise/bench-harness';
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
      burst(tally, load);
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

function burst(tally: Tally, load: Load & { readonly kind: 'bursts' }): void {
  if (tally.isOver) return;
  const count = 1 + Math.floor(load.mostItems * Math.random());
  const sentAt = nowMs();
  for (let item = 0; item < count; item++) tally.ask(sentAt, () => {});
  setTimer(() => burst(tally, load), load.everyMs);
}
