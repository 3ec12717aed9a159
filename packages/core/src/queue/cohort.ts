/**
 * Callers whose time runs out together: those of one turn with the same time-out. They share one place
 * among the deadlines. Their time starts to run when the turn ends in which they came: what the caller's
 * own code does before that is not charged to it, and no clock has to be read for each call.
 */
import type { Deadlines, Expiring } from '../time/deadlines.js';
import type { Entry, Moment } from './entry.js';

export class Cohort implements Expiring {
  readonly timeoutMs: number;
  readonly moment: Moment;
  deadline: number;
  heapIndex = -1;

  readonly #deadlines: Deadlines;
  readonly #entries: Entry[] = [];
  #unsettled = 0;

  constructor(timeoutMs: number, moment: Moment, deadlines: Deadlines) {
    this.timeoutMs = timeoutMs;
    this.moment = moment;
    this.deadline = moment.at + timeoutMs;
    this.#deadlines = deadlines;
  }

  add(entry: Entry): void {
    entry.cohort = this;
    this.#entries[this.#entries.length] = entry;
    this.#unsettled += 1;
  }

  /** Their time starts to run. */
  run(now: number): void {
    if (this.#unsettled === 0) return;
    this.deadline = now + this.timeoutMs;
    this.#deadlines.add(this);
  }

  /** To be called once for each of them, when it is settled. */
  letGo(): void {
    this.#unsettled -= 1;
    if (this.#unsettled === 0) this.#deadlines.remove(this);
  }

  expire(): void {
    for (const entry of this.#entries) entry.expire();
  }
}
