/** The searches of a plan. Each answer has been simulated; formulas only say where to begin. */
import { capacity } from '../simulation/curve.js';
import { cappedCurve, HOLDS_FROM, MOST_SLOTS, type Question } from './plan-request.js';
import type { Setup } from './plan-trial.js';

/** Somebody who tries a setup and says whether the target is held. */
export interface Trials {
  run(setup: Setup): Promise<{ readonly holds: boolean }>;
}

/** How exactly rates and targets are found. */
const PRECISION = 1.01;
/** Where the search for a rate ends, as a share of what a slot can do one by one. */
const SLOWEST = 1 / 256;
/** A target so many times the one asked for helps nobody. */
const LONGEST = 256;

/** What so many slots can do a second, were all batches the best size and nobody in a hurry. */
export function capacityPerSecond({ curve }: Question, slots: number, maxBatchSize: number): number {
  return slots * capacity(cappedCurve(curve, maxBatchSize)).perMs * 1000;
}

/**
 * The largest rate that holds the target, with three digits; undefined when none does. Never less than
 * one that is known to.
 */
export async function largestRate(
  trials: Trials,
  question: Question,
  setup: Omit<Setup, 'perSecond'>,
  known = 0,
): Promise<number | undefined> {
  const holds = (perSecond: number) => trials.run({ ...setup, perSecond }).then((trial) => trial.holds);
  const limit = capacityPerSecond(question, setup.slots, setup.maxBatchSize) / HOLDS_FROM;
  const slowest = SLOWEST * capacityPerSecond(question, 1, 1);
  // Most often it is a little below the capacity.
  let tooMuch = rounded(limit, 'up');
  let held = Math.max(rounded(0.8 * limit, 'down'), known);
  while (!(await holds(held))) {
    tooMuch = held;
    held = Math.max(rounded(held / 2, 'down'), known);
    if (held < slowest) return undefined;
  }
  while (tooMuch / held > PRECISION) {
    const middle = rounded(Math.sqrt(held * tooMuch), 'down');
    if (middle <= held) break;
    if (await holds(middle)) held = middle;
    else tooMuch = middle;
  }
  return held;
}

/** The fewest slots that hold the target at this rate; undefined when 64 do not. */
export async function fewestSlots(
  trials: Trials,
  question: Question,
  setup: Omit<Setup, 'slots'>,
): Promise<number | undefined> {
  const holds = (slots: number) => trials.run({ ...setup, slots }).then((trial) => trial.holds);
  const perSlot = capacityPerSecond(question, 1, setup.maxBatchSize);
  // Fewer cannot even do the work.
  const least = Math.max(1, Math.ceil((HOLDS_FROM * setup.perSecond) / perSlot));
  if (least > MOST_SLOTS) return undefined;
  let tooFew = least - 1;
  let enough = least;
  for (let step = 1; !(await holds(enough)); step *= 2) {
    if (enough === MOST_SLOTS) return undefined;
    tooFew = enough;
    enough = Math.min(MOST_SLOTS, enough + step);
  }
  while (enough - tooFew > 1) {
    const middle = (tooFew + enough) >> 1;
    if (await holds(middle)) enough = middle;
    else tooFew = middle;
  }
  return enough;
}

/** The lowest target, with three digits, that these slots hold at this rate; undefined when none does. */
export async function lowestTarget(
  trials: Trials,
  question: Question,
  setup: Omit<Setup, 'targetMs'>,
): Promise<number | undefined> {
  const { perSecond, slots, maxBatchSize } = setup;
  if (perSecond >= capacityPerSecond(question, slots, maxBatchSize)) return undefined;
  const holds = (targetMs: number) => trials.run({ ...setup, targetMs }).then((trial) => trial.holds);
  let tooLow = Math.min(question.targetMs, question.curve.durationMs(1)) * 0.99;
  let enough = rounded(Math.max(question.targetMs, question.curve.durationMs(1)), 'up');
  while (!(await holds(enough))) {
    tooLow = enough;
    enough = rounded(2 * enough, 'up');
    if (enough > LONGEST * Math.max(question.targetMs, question.curve.durationMs(1))) return undefined;
  }
  while (enough / tooLow > PRECISION) {
    const middle = rounded(Math.sqrt(tooLow * enough), 'up');
    if (middle >= enough) break;
    if (await holds(middle)) enough = middle;
    else tooLow = middle;
  }
  return enough;
}

/** Of these largest batches the one with which the largest rate is held; a later one must be better by 2 %. */
export async function bestBatchSize(
  trials: Trials,
  question: Question,
  sizes: readonly number[],
  slots: number,
): Promise<number> {
  const { targetMs } = question;
  let best = sizes[0] as number;
  if (sizes.length === 1) return best;
  let bestRate = (await largestRate(trials, question, { slots, targetMs, maxBatchSize: best })) ?? 0;
  for (const maxBatchSize of sizes.slice(1)) {
    const rate = (await largestRate(trials, question, { slots, targetMs, maxBatchSize })) ?? 0;
    if (rate <= 1.02 * bestRate) continue;
    best = maxBatchSize;
    bestRate = rate;
  }
  return best;
}

/** With three digits: numbers that a person can say. */
export function rounded(value: number, direction: 'up' | 'down'): number {
  const scale = 10 ** (Math.floor(Math.log10(value)) - 2);
  const digits = value / scale;
  // What is whole but for a hair of arithmetic stays as it is.
  const nearest = Math.round(digits);
  if (Math.abs(digits - nearest) < 1e-9) return Number((nearest * scale).toPrecision(3));
  return Number(((direction === 'up' ? Math.ceil(digits) : Math.floor(digits)) * scale).toPrecision(3));
}
