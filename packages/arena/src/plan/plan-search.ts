/** The searches of a plan. Every result has been simulated; formulas give the starting points only. */
import { capacity } from '../simulation/curve.js';
import { cappedCurve, HOLDS_FROM, MAX_SLOTS, type Question } from './plan-request.js';
import type { Setup } from './plan-trial.js';

/** Simulates a setup and returns whether the target is held. */
export interface Trials {
  run(setup: Setup): Promise<{ readonly holds: boolean }>;
}

/** Relative precision of rates and targets. */
const PRECISION = 1.01;
/** Lower end of the search for a rate, as a share of the throughput of one slot with batches of 1. */
const MIN_RATE_SHARE = 1 / 256;
/** Upper end of the search for a target, as a multiple of the requested one. */
const MAX_TARGET_FACTOR = 256;

/** Maximum throughput of the slots in requests per second, without a target. */
export function capacityPerSecond({ curve }: Question, slots: number, maxBatchSize: number): number {
  return slots * capacity(cappedCurve(curve, maxBatchSize)).perMs * 1000;
}

/** The largest rate that holds the target, at least `known`, with three digits; undefined when none does. */
export async function largestRate(
  trials: Trials,
  question: Question,
  setup: Omit<Setup, 'perSecond'>,
  known = 0,
): Promise<number | undefined> {
  const holds = (perSecond: number) => trials.run({ ...setup, perSecond }).then((trial) => trial.holds);
  const limit = capacityPerSecond(question, setup.slots, setup.maxBatchSize) / HOLDS_FROM;
  const lowest = MIN_RATE_SHARE * capacityPerSecond(question, 1, 1);
  // Usually it is just below the maximum throughput.
  let tooMuch = rounded(limit, 'up');
  let held = Math.max(rounded(0.8 * limit, 'down'), known);
  while (!(await holds(held))) {
    tooMuch = held;
    held = Math.max(rounded(held / 2, 'down'), known);
    if (held < lowest) return undefined;
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
  // Fewer slots do not have the throughput.
  const least = Math.max(1, Math.ceil((HOLDS_FROM * setup.perSecond) / perSlot));
  if (least > MAX_SLOTS) return undefined;
  let tooFew = least - 1;
  let enough = least;
  for (let step = 1; !(await holds(enough)); step *= 2) {
    if (enough === MAX_SLOTS) return undefined;
    tooFew = enough;
    enough = Math.min(MAX_SLOTS, enough + step);
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
  setup: Omit<Setup, 'targetLatencyMs'>,
): Promise<number | undefined> {
  const { perSecond, slots, maxBatchSize } = setup;
  if (perSecond >= capacityPerSecond(question, slots, maxBatchSize)) return undefined;
  const holds = (targetLatencyMs: number) =>
    trials.run({ ...setup, targetLatencyMs }).then((trial) => trial.holds);
  let tooLow = Math.min(question.targetLatencyMs, question.curve.durationMs(1)) * 0.99;
  let enough = rounded(Math.max(question.targetLatencyMs, question.curve.durationMs(1)), 'up');
  while (!(await holds(enough))) {
    tooLow = enough;
    enough = rounded(2 * enough, 'up');
    if (enough > MAX_TARGET_FACTOR * Math.max(question.targetLatencyMs, question.curve.durationMs(1)))
      return undefined;
  }
  while (enough / tooLow > PRECISION) {
    const middle = rounded(Math.sqrt(tooLow * enough), 'up');
    if (middle >= enough) break;
    if (await holds(middle)) enough = middle;
    else tooLow = middle;
  }
  return enough;
}

/** The candidate with the largest rate that is held; a later candidate must be better by 2 %. */
export async function bestBatchSize(
  trials: Trials,
  question: Question,
  sizes: readonly number[],
  slots: number,
): Promise<number> {
  const { targetLatencyMs } = question;
  let best = sizes[0] as number;
  if (sizes.length === 1) return best;
  let bestRate = (await largestRate(trials, question, { slots, targetLatencyMs, maxBatchSize: best })) ?? 0;
  for (const maxBatchSize of sizes.slice(1)) {
    const rate = (await largestRate(trials, question, { slots, targetLatencyMs, maxBatchSize })) ?? 0;
    if (rate <= 1.02 * bestRate) continue;
    best = maxBatchSize;
    bestRate = rate;
  }
  return best;
}

/** With three digits, for readability. */
export function rounded(value: number, direction: 'up' | 'down'): number {
  const scale = 10 ** (Math.floor(Math.log10(value)) - 2);
  const digits = value / scale;
  // Tolerates the rounding of floating-point arithmetic.
  const nearest = Math.round(digits);
  if (Math.abs(digits - nearest) < 1e-9) return Number((nearest * scale).toPrecision(3));
  return Number(((direction === 'up' ? Math.ceil(digits) : Math.floor(digits)) * scale).toPrecision(3));
}
