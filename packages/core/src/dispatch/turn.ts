/** The current turn of the event loop: its arrivals, their deadlines, and a callback at its end. */

import { Cohort } from '../queue/cohort.js';
import type { Moment } from '../queue/entry.js';
import type { Clock } from '../time/clock.js';
import type { Deadlines } from '../time/deadlines.js';

/**
 * How long batches may be dispatched one after another within one turn. Synchronous handlers would otherwise delay
 * sockets, timers and cancellations.
 */
export const TURN_BUDGET_MS = 2;

export class Turn {
  readonly #clock: Clock;
  readonly #deadlines: Deadlines;
  readonly #onEnd: () => void;
  #isOpen = false;
  #openedAt = 0;
  #moment: Moment | undefined = undefined;
  /** Cohorts whose time has not started: it does when the clock is next read, at the end of the turn at the latest. */
  #cohorts: Cohort[] = [];
  #recentCohort: Cohort | undefined = undefined;

  constructor(clock: Clock, deadlines: Deadlines, onEnd: () => void) {
    this.#clock = clock;
    this.#deadlines = deadlines;
    this.#onEnd = onEnd;
  }

  /** Calls `onEnd` at the end of the turn. */
  open(now: number): void {
    if (this.#isOpen) return;
    this.#isOpen = true;
    this.#openedAt = now;
    this.#clock.defer(this.#end);
  }

  isSpent(now: number): boolean {
    return now - this.#openedAt >= TURN_BUDGET_MS;
  }

  /** All arrivals since the clock was last read share one moment. */
  get moment(): Moment {
    return this.#moment ?? this.#beginMoment();
  }

  /** Counts items that are offered to the queue. */
  arrived(count: number): Moment {
    const { moment } = this;
    moment.arrivals += count;
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

  /** Called when the clock has been read: starts the time of the cohorts. */
  runCohorts(now: number): void {
    if (this.#cohorts.length === 0) return;
    for (const cohort of this.#cohorts) cohort.run(now);
    this.#cohorts = [];
    this.#recentCohort = undefined;
  }

  /** Returns the moment, if there were arrivals; the next arrival gets a new one. */
  endMoment(): Moment | undefined {
    const moment = this.#moment;
    this.#moment = undefined;
    return moment?.arrivals === 0 ? undefined : moment;
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
