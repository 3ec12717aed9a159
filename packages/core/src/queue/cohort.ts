/**
 * Callers of one turn with deadlines, as one node of the heap of deadlines. Their time starts to run at the end of the
 * turn in which they arrived, so that synchronous code of the caller is not counted, and the clock is not read for each
 * call.
 */

import type { Deadlines, Expiring } from '../time/deadlines.js';
import type { Entry, Moment } from './entry.js';

/** Bounds the scan for the next deadline, and how many settled entries one slow call keeps in memory. */
const MOST_CALLERS = 64;

export class Cohort implements Expiring {
  readonly moment: Moment;
  /** The earliest deadline of its unsettled callers, or an earlier time; see `update`. */
  deadline = Number.POSITIVE_INFINITY;
  heapIndex = -1;

  readonly #deadlines: Deadlines;
  readonly #entries: Entry[] = [];
  readonly #timeoutsMs: number[] = [];
  #startedAt: number;
  #unsettled = 0;
  #isOutdated = false;

  constructor(moment: Moment, deadlines: Deadlines) {
    this.moment = moment;
    this.#startedAt = moment.at;
    this.#deadlines = deadlines;
  }

  get isFull(): boolean {
    return this.#entries.length === MOST_CALLERS;
  }

  add(entry: Entry, timeoutMs: number): void {
    entry.cohort = this;
    entry.cohortIndex = this.#entries.length;
    this.#entries.push(entry);
    this.#timeoutsMs.push(timeoutMs);
    this.#unsettled += 1;
  }

  timeoutMsOf({ cohortIndex }: Entry): number {
    return this.#timeoutsMs[cohortIndex] as number;
  }

  deadlineOf(entry: Entry): number {
    return this.#startedAt + this.timeoutMsOf(entry);
  }

  /** Starts the time of its callers. */
  run(now: number): void {
    this.#startedAt = now;
    this.#schedule();
  }

  /** A caller is settled: once for each. */
  entrySettled(entry: Entry): void {
    this.#unsettled -= 1;
    if (this.#unsettled === 0) this.#deadlines.remove(this);
    else if (this.deadlineOf(entry) <= this.deadline) this.#isOutdated = true;
  }

  update(): boolean {
    if (!this.#isOutdated) return false;
    this.#isOutdated = false;
    const before = this.deadline;
    this.deadline = Number.POSITIVE_INFINITY;
    for (const entry of this.#entries) {
      if (!entry.settled) this.deadline = Math.min(this.deadline, this.deadlineOf(entry));
    }
    return this.deadline !== before;
  }

  expire(now: number): void {
    for (const entry of this.#entries) if (!entry.settled && this.deadlineOf(entry) <= now) entry.expire();
    this.#schedule();
  }

  #schedule(): void {
    if (this.#unsettled === 0) return;
    this.#isOutdated = true;
    this.update();
    this.#deadlines.add(this);
  }
}
