/** The times at which an open model's requests are due: the same seed gives the same times in every process. */
import { type Random, randomStream } from '@batchwise/arena';
import type { ArrivalSchedule } from './traffic.js';

/** The next time in milliseconds since the start of the run, rising; Infinity after the last one. */
export type ArrivalTimes = () => number;

export function arrivalTimes(schedule: ArrivalSchedule, seed: number): ArrivalTimes {
  const random = randomStream(seed, 'arrivals');
  switch (schedule.kind) {
    case 'constant':
      return evenTimes(schedule.perSecond);
    case 'poisson':
      return poissonTimes([{ from: schedule.perSecond, to: schedule.perSecond, seconds: Infinity }], random);
    case 'gamma':
      return gammaTimes(schedule.perSecond, schedule.variation, random);
    case 'steps':
      return poissonTimes(stepPhases(schedule.steps), random);
    case 'ramp': {
      const { from, to, seconds } = schedule;
      const end = { from: to, to, seconds: Infinity };
      return poissonTimes([{ from, to, seconds }, end], random);
    }
    case 'trace': {
      let next = 0;
      return () => schedule.timesMs[next++] ?? Number.POSITIVE_INFINITY;
    }
  }
}

/** Multiplied and not added up, so that rounding errors do not grow with the run. */
function evenTimes(perSecond: number): ArrivalTimes {
  let next = 0;
  return () => (next++ * 1000) / perSecond;
}

function gammaTimes(perSecond: number, variation: number, random: Random): ArrivalTimes {
  const shape = 1 / variation ** 2;
  const scaleMs = 1000 / perSecond / shape;
  let at = 0;
  return () => {
    at += scaleMs * gamma(shape, random);
    return at;
  };
}

/** A gamma variate of scale 1: Marsaglia and Tsang, ACM TOMS 26 (2000). */
function gamma(shape: number, random: Random): number {
  if (shape < 1) return gamma(shape + 1, random) * (1 - random()) ** (1 / shape);
  const d = shape - 1 / 3;
  const c = 1 / Math.sqrt(9 * d);
  for (;;) {
    const x = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    const v = (1 + c * x) ** 3;
    if (v > 0 && Math.log(1 - random()) < 0.5 * x * x + d * (1 - v + Math.log(v))) return d * v;
  }
}

/** A time during which the rate changes evenly; rates per second. */
interface Phase {
  readonly from: number;
  readonly to: number;
  readonly seconds: number;
}

function stepPhases(steps: readonly { perSecond: number; seconds: number }[]): Phase[] {
  return steps.map(({ perSecond, seconds }, i) => ({
    from: perSecond,
    to: perSecond,
    seconds: i === steps.length - 1 ? Number.POSITIVE_INFINITY : seconds,
  }));
}

/**
 * Poisson arrivals whose rate depends on time, by inversion: the expected number of arrivals between two of them is
 * exponentially distributed with mean 1.
 */
function poissonTimes(phases: readonly Phase[], random: Random): ArrivalTimes {
  let phase = 0;
  let phaseAt = 0;
  /** Within the phase, in seconds. */
  let at = 0;
  return () => {
    let expected = -Math.log(1 - random());
    for (;;) {
      const current = phases[phase];
      if (current === undefined) return Number.POSITIVE_INFINITY;
      const left = expectedArrivals(current, at, current.seconds);
      if (expected < left) {
        at = timeOf(current, expectedArrivals(current, 0, at) + expected);
        return (phaseAt + at) * 1000;
      }
      expected -= left;
      phaseAt += current.seconds;
      phase++;
      at = 0;
    }
  };
}

function expectedArrivals({ from, to, seconds }: Phase, start: number, end: number): number {
  if (from === to) return from === 0 ? 0 : from * (end - start);
  return from * (end - start) + ((to - from) / (2 * seconds)) * (end ** 2 - start ** 2);
}

/** When so many arrivals are expected: the root of a quadratic equation, in the form that does not cancel. */
function timeOf({ from, to, seconds }: Phase, expected: number): number {
  if (from === to) return expected / from;
  const root = Math.sqrt(Math.max(0, from ** 2 + (2 * (to - from) * expected) / seconds));
  return Math.min(seconds, (2 * expected) / (from + root));
}
