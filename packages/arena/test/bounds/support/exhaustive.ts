/**
 * Puzzles of a few items and one slot, solved by trying every plan. Two kinds of plans: any items in any
 * batches in any order, which knows nothing of runs, for a handful of items; and runs of consecutive
 * items, which knows nothing of what may be left out of sight, for about twice as many.
 */
import { type Curve, formulaCurve } from '@batchwise/arena';
import fc from 'fast-check';

export interface Puzzle {
  readonly arrivedAt: readonly number[];
  readonly curve: Curve;
  readonly targetMs: number;
}

export interface Solution {
  readonly mostOnTime: number;
  /** With all of them on time; Infinity when that cannot be. */
  readonly leastBusyMs: number;
}

/** Whole numbers, so that ends and deadlines often coincide; short gaps, so that the slot is often late. */
export function puzzles(mostItems: number): fc.Arbitrary<Puzzle> {
  const wholeUpTo = (max: number) => fc.integer({ min: 0, max });
  return fc
    .record({
      gaps: fc.array(wholeUpTo(3), { minLength: Math.ceil(mostItems / 2), maxLength: mostItems }),
      steps: fc.array(wholeUpTo(3), { minLength: 1, maxLength: 3 }),
      shortest: fc.integer({ min: 1, max: 5 }),
      slackMs: wholeUpTo(12),
    })
    .map(({ gaps, steps, shortest, slackMs }) =>
      puzzle(runningSums(gaps), runningSums(steps.with(0, shortest)), shortest + slackMs),
    );
}

/** Seldom met at random: who leaves a plan out of sight a moment too soon is wrong about one of these. */
export const TRAPS: readonly Puzzle[] = [
  puzzle([0, 3, 3, 6, 7], [5, 5], 7),
  puzzle([2, 5, 5, 7, 7, 8, 8, 9], [4, 4, 4, 6], 5),
  puzzle([2, 5, 8, 8, 9], [3, 5, 8, 8], 8),
  puzzle([1, 5, 8, 10, 11, 12], [3, 5, 6], 8),
];

function puzzle(arrivedAt: number[], durations: number[], targetMs: number): Puzzle {
  const durationMs = (size: number) => durations[size - 1] as number;
  return { arrivedAt, curve: formulaCurve(`[${durations}]`, durations.length, durationMs), targetMs };
}

export function solveByAnyPlan(puzzle: Puzzle): Solution {
  return solve(puzzle, (left) => {
    const choices = [];
    for (let chosen = 1; chosen < 2 ** left.length; chosen++) {
      const isChosen = (_: number, i: number) => (chosen & (1 << i)) !== 0;
      choices.push({
        batch: left.filter(isChosen),
        rest: left.filter((at, i) => !isChosen(at, i)),
      });
    }
    return choices;
  });
}

export function solveByRuns(puzzle: Puzzle): Solution {
  return solve(puzzle, (left) => {
    const choices = [];
    for (let end = 1; end <= left.length; end++) {
      for (let first = 0; first < end; first++) {
        choices.push({ batch: left.slice(first, end), rest: left.slice(end) });
      }
    }
    return choices;
  });
}

/** One way to go on: a batch, and those of whom it is still open whether they get an answer. */
interface Choice {
  readonly batch: readonly number[];
  readonly rest: readonly number[];
}

function solve(
  { arrivedAt, curve, targetMs }: Puzzle,
  choicesOf: (left: readonly number[]) => readonly Choice[],
): Solution {
  let mostOnTime = 0;
  let leastBusyMs = Number.POSITIVE_INFINITY;
  const goOn = (left: readonly number[], freeAt: number, onTime: number, busyMs: number): void => {
    mostOnTime = Math.max(mostOnTime, onTime);
    if (onTime === arrivedAt.length) leastBusyMs = Math.min(leastBusyMs, busyMs);
    for (const { batch, rest } of choicesOf(left)) {
      if (batch.length > curve.maxBatchSize) continue;
      const durationMs = curve.durationMs(batch.length);
      const endsAt = Math.max(freeAt, ...batch) + durationMs;
      const inTime = batch.filter((at) => endsAt <= at + targetMs).length;
      // A batch for nobody only delays the others.
      if (inTime > 0) goOn(rest, endsAt, onTime + inTime, busyMs + durationMs);
    }
  };
  goOn(arrivedAt, 0, 0, 0);
  return { mostOnTime, leastBusyMs };
}

function runningSums(steps: readonly number[]): number[] {
  let sum = 0;
  return steps.map((step) => {
    sum += step;
    return sum;
  });
}
