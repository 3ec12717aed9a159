/** What one process has seen in one second of a run: the unit in which figures are collected, sent and merged. */
import type { Outcome } from '../targets/target.js';
import { type EncodedTally, Tally, type Times, tallyOf } from './tally.js';

export interface Gauges {
  /** Users that have started and not stopped; 0 for arrival rates. */
  readonly users: number;
  readonly inFlight: number;
  readonly connections: number;
  /** Share of one CPU core that the process used during the second, 1 for all of it. */
  readonly cpuShare: number;
  /** Longest delay of the event loop during the second. */
  readonly eventLoopMs: number;
}

/** Of arrival rates, during the second. */
export interface ArrivalCounts {
  /** Arrivals that were due. */
  readonly due: number;
  readonly sent: number;
  /** Arrivals that could not be sent, because as many requests as allowed were in flight. */
  readonly notSent: number;
}

export interface Interval {
  /** Seconds since the start of the run, a whole number. */
  readonly second: number;
  /** By the name of the requests. */
  readonly tallies: ReadonlyMap<string, Tally>;
  readonly gauges: Gauges;
  readonly arrivals: ArrivalCounts;
  /** Intended starts in milliseconds since the start of the run, of a run that keeps them; in no order. */
  readonly arrivalTimes?: readonly number[];
}

export interface EncodedInterval extends Omit<Interval, 'tallies'> {
  readonly tallies: readonly (readonly [name: string, tally: EncodedTally])[];
}

export function encodeInterval(interval: Interval): EncodedInterval {
  return { ...interval, tallies: [...interval.tallies].map(([name, tally]) => [name, tally.encode()]) };
}

export function decodeInterval(encoded: EncodedInterval): Interval {
  return {
    ...encoded,
    tallies: new Map(encoded.tallies.map(([name, tally]) => [name, Tally.decode(tally)])),
  };
}

/** Collects outcomes between two calls of `take()`. */
export class Recorder {
  readonly #targetLatencyMs: number | undefined;
  #tallies = new Map<string, Tally>();
  #due = 0;
  #sent = 0;
  #notSent = 0;
  /** Undefined where arrivals are not kept. */
  #arrivalTimes: number[] | undefined;
  #startAt = 0;

  constructor(targetLatencyMs: number | undefined, { keepArrivals = false } = {}) {
    this.#targetLatencyMs = targetLatencyMs;
    if (keepArrivals) this.#arrivalTimes = [];
  }

  /** The time on the clock from which arrivals are counted. */
  start(at: number): void {
    this.#startAt = at;
  }

  record(name: string, outcome: Outcome, times: Times): void {
    tallyOf(this.#tallies, name).record(outcome, times, this.#targetLatencyMs);
    this.#keep(times.intendedAt);
  }

  arrivalSent(): void {
    this.#due++;
    this.#sent++;
  }

  /** A request that was sent is kept when it ends; this one never was. */
  arrivalNotSent(intendedAt: number): void {
    this.#due++;
    this.#notSent++;
    this.#keep(intendedAt);
  }

  /** To the microsecond: as a trace file has it, and short in messages between processes. */
  #keep(intendedAt: number): void {
    this.#arrivalTimes?.push(Math.max(0, Math.round(1000 * (intendedAt - this.#startAt)) / 1000));
  }

  take(second: number, gauges: Gauges): Interval {
    const interval: Interval = {
      second,
      tallies: this.#tallies,
      gauges,
      arrivals: { due: this.#due, sent: this.#sent, notSent: this.#notSent },
      ...(this.#arrivalTimes !== undefined && { arrivalTimes: this.#arrivalTimes }),
    };
    if (this.#arrivalTimes !== undefined) this.#arrivalTimes = [];
    this.#tallies = new Map();
    this.#due = this.#sent = this.#notSent = 0;
    return interval;
  }
}
