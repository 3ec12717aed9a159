/**
 * Exhaustive search over schedules of a few items on one slot, in two ways: any items in any batches in any order, which
 * does not assume runs, for about five items; and runs of consecutive items without dominance rules, for about ten.
 */
import { type Curve, formulaCurve } from '@batchwise/arena';
import fc from 'fast-check';

export interface Puzzle {
  readonly arrivedAt: readonly number[];
  readonly curve: Curve;
  readonly targetLatencyMs: number;
}

export interface Solution {
  readonly mostOnTime: number;
  /** With all items on time; Infinity if that is impossible. */
  readonly leastBusyMs: number;
}

/** Whole numbers, so that ends and deadlines often coincide; short gaps, so that items are often late. */
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

/** Cases that are rare at random, in which an incorrect dominance rule gives wrong results. */
export const TRAPS: readonly Puzzle[] = [
  puzzle([0, 3, 3, 6, 7], [5, 5], 7),
  puzzle([2, 5, 5, 7, 7, 8, 8, 9], [4, 4, 4, 6], 5),
  puzzle([2, 5, 8, 8, 9], [3, 5, 8, 8], 8),
  puzzle([1, 5, 8, 10, 11, 12], [3, 5, 6], 8),
];

function puzzle(arrivedAt: number[], durations: number[], targetLatencyMs: number): Puzzle {
  const durationMs = (size: number) => durations[size - 1] as number;
  return { arrivedAt, curve: formulaCurve(`[${durations}]`, durations.length, durationMs), targetLatencyMs };
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

/** A continuation: a batch, and the items that are not yet decided. */
interface Choice {
  readonly batch: readonly number[];
  readonly rest: readonly number[];
}

function solve(
  { arrivedAt, curve, targetLatencyMs }: Puzzle,
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
      const inTime = batch.filter((at) => endsAt <= at + targetLatencyMs).length;
      // A batch without items on time only delays the others.
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
