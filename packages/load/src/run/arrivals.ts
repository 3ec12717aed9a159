/**
 * The open model: starts every arrival at its intended time, whatever the target does. Timers are coarse and may be
 * late, so each wake-up starts everything that is due; the intended time is always that of the schedule.
 */
import type { Clock } from 'batchwise';
import type { Recorder } from '../statistics/interval.js';
import { Alarm } from './alarm.js';
import type { ArrivalTimes } from './arrival-times.js';
import type { Share } from './share.js';
import type { Work } from './work.js';

/** A wake-up yields to the sockets after this time: a generator that is too slow must still read responses. */
const LONGEST_TURN_MS = 5;
/** At the end of the run: what a generator that was interrupted is behind is sent, not what one that is too slow is. */
const LAST_TURN_MS = 100;
/** Reading the clock takes longer than comparing two numbers: it is read once for so many arrivals. */
const ARRIVALS_PER_CLOCK = 32;

export interface ArrivalsOptions {
  readonly clock: Clock;
  readonly times: ArrivalTimes;
  readonly share: Share;
  readonly work: Work;
  readonly recorder: Recorder;
  /** Of this process. */
  readonly maxInFlight: number;
  /** On the clock. */
  readonly startAt: number;
  /** On the clock: arrivals from here on are not part of the run. */
  readonly endAt: number;
  /** Called after each arrival that is done. */
  readonly onDone: () => void;
  /** Called when the schedule has ended, as that of a trace does. */
  readonly onLast: () => void;
}

export class Arrivals {
  readonly #options: ArrivalsOptions;
  readonly #alarm: Alarm;
  #number = -1;
  #nextAt = 0;
  #inFlight = 0;
  #hasEnded = false;
  #isStarting = false;
  #isDeferred = false;
  #isStopped = false;

  constructor(options: ArrivalsOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.clock, this.#onAlarm);
  }

  /** Arrivals that have been started and are not done. */
  get inFlight(): number {
    return this.#inFlight;
  }

  start(): void {
    this.#advance();
    this.#startDue(this.#options.clock.now());
  }

  /** Starts what is due by now as far as there is time; the rest could not be sent. */
  stop(now: number): void {
    if (this.#isStopped) return;
    this.#startUntil(now, LAST_TURN_MS);
    this.#isStopped = true;
    this.#alarm.clear();
    for (; this.#nextAt <= now; this.#advance()) this.#options.recorder.arrivalNotSent(this.#nextAt);
  }

  readonly #onAlarm = (now: number): void => this.#startDue(now);

  readonly #onDone = (): void => {
    this.#inFlight--;
    // A response often comes before the timer: what is due by now need not wait for it.
    if (!this.#isStarting && !this.#isDeferred) {
      const now = this.#options.clock.now();
      if (this.#nextAt <= now) this.#startDue(now);
    }
    this.#options.onDone();
  };

  #startDue(now: number): void {
    if (this.#isStopped) return;
    this.#startUntil(now);
    if (this.#isStopped) return;
    if (this.#nextAt === Number.POSITIVE_INFINITY) {
      if (this.#hasEnded) this.#options.onLast();
    } else if (this.#nextAt <= now) {
      this.#isDeferred = true;
      this.#options.clock.defer(this.#onDeferred);
    } else {
      this.#alarm.ringBy(this.#nextAt);
    }
  }

  readonly #onDeferred = (): void => {
    this.#isDeferred = false;
    this.#startDue(this.#options.clock.now());
  };

  /** Starts arrivals that are due at `until` or before, for one turn. */
  #startUntil(until: number, longestMs = LONGEST_TURN_MS): void {
    const { clock, work, recorder, maxInFlight } = this.#options;
    const turnEndsAt = clock.now() + longestMs;
    this.#isStarting = true;
    for (let started = 1; this.#nextAt <= until; started++) {
      if (this.#inFlight >= maxInFlight) {
        recorder.arrivalNotSent(this.#nextAt);
      } else {
        this.#inFlight++;
        recorder.arrivalSent();
        work.arrive(this.#number, this.#nextAt, this.#onDone);
      }
      this.#advance();
      if (started % ARRIVALS_PER_CLOCK === 0 && clock.now() > turnEndsAt) break;
    }
    this.#isStarting = false;
  }

  /** To the next arrival of this process. */
  #advance(): void {
    const { times, share, startAt, endAt } = this.#options;
    let at: number;
    do {
      at = times();
      this.#number++;
    } while (this.#number % share.count !== share.index && at < Number.POSITIVE_INFINITY);
    this.#hasEnded = at === Number.POSITIVE_INFINITY;
    this.#nextAt = startAt + at < endAt ? startAt + at : Number.POSITIVE_INFINITY;
  }
}
