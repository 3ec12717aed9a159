/**
 * A turn of the event loop: its arrivals, and its end. Most decisions are made at the end of the turn, so that
 * items which arrive together are dispatched together.
 */

import { Cohort } from '../queue/cohort.js';
import type { Moment } from '../queue/entry.js';
import type { Clock } from '../time/clock.js';
import type { Deadlines } from '../time/deadlines.js';

/**
 * For how long batches may follow each other within one turn. Handlers that never leave the thread
 * would otherwise keep sockets, timers and cancellations waiting.
 */
export const TURN_BUDGET_MS = 2;

export class Turn {
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #onEnd: () => void;
  #isOpen = false;
  #openedAt = 0;
  #moment: Moment | undefined = undefined;
  /** Their time starts to run when the clock is next read, at the end of the turn at the latest. */
  #cohorts: Cohort[] = [];
  #recentCohort: Cohort | undefined = undefined;

  constructor(clock: Clock, deadlines: Deadlines, onEnd: () => void) {
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#onEnd = onEnd;
  }

  /** From now on, the end of the turn is reported. */
  open(now: number): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#openedAt = now;
    this.#clock.defer(this.#end);
  }

  isSpent(now: number): boolean {
    return now - this.#openedAt >= TURN_BUDGET_MS;
  }

  /** The moment of all arrivals since the clock was last read, with one more. */
  arrival(): Moment {
    const moment = this.#moment ?? this.#beginMoment();
    moment.arrivals += 1;
    return moment;
  }

  /** A cohort for one more caller of this moment. */
  cohort(moment: Moment): Cohort {
    let cohort = this.#recentCohort;
    if (cohort === undefined || cohort.isFull || cohort.moment !== moment) {
      cohort = new Cohort(moment, this.#deadlines);
      this.#recentCohort = cohort;
      this.#cohorts.push(cohort);
    }
    return cohort;
  }

  /** To be called when the clock has been read: the time of the cohorts starts to run. */
  runCohorts(now: number): void {
    if (this.#cohorts.length === 0) return;
    for (const cohort of this.#cohorts) cohort.run(now);
    this.#cohorts = [];
    this.#recentCohort = undefined;
  }

  /** The next arrival has another moment. */
  endMoment(): Moment | undefined {
    const moment = this.#moment;
    this.#moment = undefined;
    return moment;
  }

  #beginMoment(): Moment {
    const now = this.#clock.now();
    this.open(now);
    this.#moment = { at: now, arrivals: 0 };
    return this.#moment;
  }

  readonly #end = (): void => {
    this.#isOpen = false;
    this.#onEnd();
  };
}
