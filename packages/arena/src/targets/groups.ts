/** Target 10: 50 groups, against a rule that holds each group by itself and knows the true curve. */
import type { Policy } from 'batchwise';
import { type Cell, itemsFor } from '../grid/grid-cell.js';
import type { Curve } from '../simulation/curve.js';
import { VARIANTS } from '../simulation/our-contenders.js';
import type { Contender } from '../simulation/scenario.js';
import { afterLearning, contest, outcomeOf } from './contest.js';
import { atLeast, type Extent, seedsFrom, type Target } from './target.js';

const EXTENTS = {
  full: {
    curves: ['d', 'eights'],
    slots: [1, 4, 16],
    loads: [0.1, 0.2, 0.4, 0.6, 0.8],
    seeds: 2,
    length: { batches: 1000, least: 20_000, most: 60_000 },
  },
  quick: {
    curves: ['d', 'eights'],
    slots: [1, 4, 16],
    loads: [0.2, 0.6, 0.8],
    seeds: 1,
    length: { batches: 500, least: 12_000, most: 30_000 },
  },
};
const NOISE = 0.05;
/** The largest rounding error of a sum of times. */
const ROUNDING_MS = 1e-6;

const held: Contender = {
  name: 'each group held',
  policy: ({ curve }) => heldToStep(curve),
  knowsTarget: true,
  knowsCurve: true,
  admission: false,
};

export const groups: Target = {
  number: 10,
  name: 'groups',
  what: '50 groups with Zipf popularity, stepped curves, target 3·T(1), 5 % noise',
  goals: [
    {
      id: 'groups_goodput',
      what: 'goodput − that of each group held by itself',
      measure: 'goodput_to_held',
      ...atLeast(-0.02),
    },
  ],
  asides: [{ what: 'goodput', measure: 'goodput', better: 'higher' }],
  family: { what: 'goodput', toBound: 'goodput_to_held', better: 'higher' },

  cells(extent: Extent, firstSeed: number): Cell[] {
    const { curves, slots, loads, seeds, length } = EXTENTS[extent];
    return curves.flatMap((curve) =>
      slots.flatMap((count) =>
        loads.map((load) => {
          const cell = {
            target: 'groups',
            family: '50 groups',
            curve,
            slots: count,
            arrivals: { kind: 'poisson' as const, load },
            targetFactor: 3,
            targetSize: 1,
            noise: NOISE,
            mix: '50 groups' as const,
          };
          return { ...cell, items: itemsFor(cell, length), seeds: seedsFrom(firstSeed, seeds) };
        }),
      ),
    );
  },

  async play(cell) {
    const outcomes = await contest(cell, [VARIANTS.adaptive, held], afterLearning);
    const { goodput } = outcomeOf(outcomes, VARIANTS.adaptive);
    return { cell, measures: { goodput, goodput_to_held: goodput - outcomeOf(outcomes, held).goodput } };
  },
};

/** Dispatches a group when it fills a step of the curve, or at the latest start of the next step. */
function heldToStep(curve: Curve): Policy {
  const { maxBatchSize, durationMs } = curve;
  const sizes = Array.from({ length: maxBatchSize }, (_, i) => i + 1);
  const steps = sizes.filter((size) => size === maxBatchSize || durationMs(size + 1) > durationMs(size));
  return {
    name: held.name,
    decide(view, now) {
      const { length, nextDeadline } = view;
      const late: number[] = [];
      while (late.length < length && now + durationMs(1) > view.deadlineAt(late.length) + ROUNDING_MS)
        late.push(late.length);
      if (late.length > 0) return { action: 'reject', positions: late };
      if (length >= maxBatchSize || steps.includes(length))
        return { action: 'dispatch', count: length, reason: 'full' };
      const until = nextDeadline - durationMs(steps.find((step) => step >= length) as number);
      if (until <= now + ROUNDING_MS) return { action: 'dispatch', count: length, reason: 'deadline' };
      return { action: 'wait', until };
    },
  };
}
