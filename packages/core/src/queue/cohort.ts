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

  readonly #deadlines: Deadlines;
  #entries: Entry[] = [];
  #unsettled = 0;
  #isRunning = false;

  constructor(timeoutMs: number, moment: Moment, deadlines: Deadlines) {
    this.timeoutMs = timeoutMs;
    this.moment = moment;
    this.deadline = moment.at + timeoutMs;
    this.#deadlines = deadlines;
  }

  get settled(): boolean {
    return this.#unsettled === 0;
  }

  add(entry: Entry): void {
    entry.cohort = this;
    this.#entries.push(entry);
    this.#unsettled += 1;
  }

  /** Their time starts to run. */
  run(now: number): void {
    if (this.settled) return;
    this.deadline = now + this.timeoutMs;
    this.#isRunning = true;
    this.#deadlines.add(this.deadline, this);
  }

  /** To be called once for each of them, when it is settled. */
  letGo(): void {
    this.#unsettled -= 1;
    if (this.#unsettled > 0) return;
    this.#entries = []; // it may lie among the deadlines for a while, and must keep nobody alive
    if (this.#isRunning) this.#deadlines.letGo();
  }

  expire(): void {
    for (const entry of this.#entries) entry.expire();
  }
}
