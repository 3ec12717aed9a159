import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DispatchPlan } from '../src/policy/plan/dispatch-plan.js';
import type { PlanProblem } from '../src/policy/plan/plan-states.js';

type Duration = (cost: number) => number;

const straight: Duration = (cost) => 5 + 0.1 * cost;
const padded: Duration = (cost) => 2 + 0.25 * 2 ** Math.ceil(Math.log2(Math.max(1, cost)));
const POWERS = [1, 2, 4, 8, 16, 32];

/** The size with the highest throughput. */
function bestSizeOf(durationMs: Duration, maxBatchSize: number): number {
  let best = maxBatchSize;
  for (let size = maxBatchSize; size >= 1; size--) {
    if (size * durationMs(best) > best * durationMs(size)) best = size;
  }
  return best;
}

/** A load in relation to full batches in all slots. */
function problem(durationMs: Duration, load: number, changes: Partial<PlanProblem> = {}): PlanProblem {
  const { maxBatchSize = 64, slots = 1 } = changes;
  const ratePerMs = (load * slots * maxBatchSize) / durationMs(maxBatchSize);
  const bestSize = bestSizeOf(durationMs, maxBatchSize);
  return { slots, maxBatchSize, ratePerMs, durationMs, sizes: POWERS, steps: [], bestSize, ...changes };
}

function solved(given: PlanProblem): DispatchPlan {
  const plan = new DispatchPlan(given);
  plan.work(1e8);
  return plan;
}

const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

describe('with one slot', () => {
  test.each([0.05, 0.3, 0.6, 0.9])(
    'and a straight curve, all queued items are dispatched, at load %d',
    (load) => {
      const plan = solved(problem(straight, load));
      expect(plan.isSolved).toBe(true);
      expect(upTo(64).map((count) => plan.sizeFor(count, 0))).toEqual(upTo(64));
      expect([65, 100, 127, 1000].map((count) => plan.sizeFor(count, 0))).toEqual([64, 64, 64, 64]);
    },
  );

  test('nothing is held, because the next arrival is unknown', () => {
    for (const load of [0.02, 0.5, 0.9]) {
      const plan = solved(problem(padded, load, { steps: POWERS }));
      for (const count of upTo(200)) expect(plan.sizeFor(count, 0)).toBeGreaterThan(0);
    }
  });

  test.each([0.5, 0.7, 0.85])(
    'and a backend that pads, the batch ends at the step below, at load %d',
    (load) => {
      const plan = solved(problem(padded, load, { steps: POWERS }));
      expect(plan.isUseful).toBe(true);
      // Just above a step most of the batch is padding; at a step there is none.
      expect([17, 33, 34].map((count) => plan.sizeFor(count, 0))).toEqual([16, 32, 32]);
      expect([8, 16, 32].map((count) => plan.sizeFor(count, 0))).toEqual([8, 16, 32]);
    },
  );

  test('and a backend with less throughput past a size, the batch ends there, however long the queue', () => {
    const worsePast16: Duration = (cost) => (cost <= 16 ? 4 + 0.1 * cost : 5.6 + 2 * (cost - 16));
    const ratePerMs = 0.7 * (16 / worsePast16(16));
    const plan = solved(problem(worsePast16, 0, { ratePerMs, sizes: [8, 16, 32], steps: [16] }));
    for (const count of [16, 17, 20, 32, 64, 200, 5000]) expect(plan.sizeFor(count, 0)).toBe(16);
  });
});

describe('with two slots', () => {
  const mostlyByItem: Duration = (cost) => 1 + 0.8 * cost;

  test('and both free, the queue is shared between them when that is quicker', () => {
    const plan = solved(problem(mostlyByItem, 0.5, { slots: 2, maxBatchSize: 32 }));
    expect(plan.isUseful).toBe(true);
    for (const count of [8, 16, 24]) {
      expect(plan.sizeFor(count, 0)).toBeLessThan(count);
      expect(plan.sizeFor(count, 0)).toBeGreaterThan(0);
    }
  });

  test('and both free, sizes between the candidate sizes are used, too', () => {
    const plan = solved(problem(mostlyByItem, 0.5, { slots: 2, maxBatchSize: 32, sizes: [4, 8, 16] }));
    expect(plan.sizeFor(24, 0)).toBeLessThan(16);
    expect(plan.sizeFor(32, 0)).toBeGreaterThan(16);
  });

  test('the remaining time of the other slot is not rounded', () => {
    const plan = solved(problem(straight, 0.6, { slots: 2 }));
    const waitsFrom = (count: number) => {
      let tenths = 0;
      while (plan.sizeFor(count, tenths / 10) > 0) tenths += 1;
      return tenths;
    };
    // The longer the queue, the longer the remaining time from which a hold is worthwhile.
    const from = [8, 12, 16, 20, 28, 36].map(waitsFrom);
    expect(new Set(from).size).toBe(from.length);
    expect(from).toEqual(from.toSorted((x, y) => x - y));
  });

  test('a few items are held, so that the slots take turns, only while the other slot is busy', () => {
    const plan = solved(problem(straight, 0.4, { slots: 2 }));
    const waits = (residualMs: number) => upTo(64).filter((count) => plan.sizeFor(count, residualMs) === 0);
    expect(waits(0)).toEqual([]);
    expect(Math.max(...[1, 3, 5, 8, 11].map((residualMs) => waits(residualMs).length))).toBeGreaterThan(0);
    for (const residualMs of [1, 3, 5, 8, 11]) expect(waits(residualMs)).not.toContain(64);
  });

  test('and a flat curve, the whole queue is dispatched', () => {
    const plan = solved(problem(() => 10, 0.3, { slots: 2, maxBatchSize: 32 }));
    for (const count of upTo(32)) expect(plan.sizeFor(count, 0)).toBe(count);
  });

  test('a hold ends by the time the other slot is free', () => {
    const plan = solved(problem(straight, 0.4, { slots: 2 }));
    for (const residualMs of [0.5, 2, 5, 9]) {
      for (const count of upTo(30)) {
        const waitMs = plan.waitMs(count, residualMs);
        expect(waitMs).toBeGreaterThan(0);
        if (waitMs !== Number.POSITIVE_INFINITY) expect(waitMs).toBeLessThan(residualMs);
      }
    }
  });
});

describe('work', () => {
  // Root cause: values of queues beyond the last state were extrapolated from the last two states, which may be adjacent:
  // values grew without limit, and no plan was found.
  test.each([0.3, 0.45, 0.6, 0.6375, 0.7, 0.8, 0.9])(
    'leads to a useful plan, wherever the states end: load %d',
    (load) => {
      const sizes = [
        1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 16, 19, 23, 27, 32, 38, 45, 54, 64, 76, 91, 108, 128, 152, 181,
      ];
      const given = problem((cost) => 11 + 0.01 * cost, load, { slots: 2, maxBatchSize: 200, sizes });
      expect(solved(given).isUseful).toBe(true);
    },
  );

  const problems: [string, PlanProblem][] = [
    ['one slot', problem(padded, 0.7, { steps: POWERS })],
    ['two slots', problem(straight, 0.6, { slots: 2, maxBatchSize: 16, sizes: [1, 2, 3, 4, 6, 8, 12] })],
  ];

  test.each(problems)('in slices leads to the same plan as in one go: %s', (_, given) => {
    const whole = solved(given);
    const sliced = new DispatchPlan(given);
    for (let slice = 1; !sliced.isSolved; slice = (slice % 97) + 1) {
      // Reading the plan in between has no effect.
      sliced.work(slice);
      sliced.sizeFor(slice, 1);
    }
    for (const count of [...upTo(70), 100, 500]) {
      for (const residualMs of [0, 1, 5]) {
        expect(sliced.sizeFor(count, residualMs)).toBe(whole.sizeFor(count, residualMs));
      }
    }
  });

  test('is needed before the plan is useful', () => {
    const plan = new DispatchPlan(problem(padded, 0.7));
    expect([plan.isSolved, plan.isUseful]).toEqual([false, false]);
    plan.work(10);
    expect([plan.isSolved, plan.isUseful]).toEqual([false, false]);
  });
});

describe('an invalid problem', () => {
  const INVALID: [string, Partial<PlanProblem>][] = [
    ['durations of NaN', { durationMs: () => Number.NaN }],
    ['durations of 0', { durationMs: () => 0 }],
    ['a rate of NaN', { ratePerMs: Number.NaN }],
  ];
  test.each(INVALID)('has no useful plan: %s', (_, changes) => {
    for (const slots of [1, 2] as const) {
      const plan = new DispatchPlan(
        problem(straight, 0.5, { slots, maxBatchSize: 16, sizes: [4], ...changes }),
      );
      plan.work(1e6);
      expect(plan.isUseful).toBe(false);
    }
  });
});

test('for any rate, curve and candidate sizes, the sizes of a useful plan are valid', () => {
  let useful = 0;
  const problems = fc.record({
    slots: fc.constantFrom(1 as const, 2 as const),
    maxBatchSize: fc.constantFrom(1, 2, 7, 64, 300),
    ratePerMs: fc.constantFrom(1e-9, 1e-3, 0.1, 1, 30, 1e5),
    fixedMs: fc.constantFrom(1e-4, 1, 40, 1e6),
    perItemMs: fc.constantFrom(0, 1e-6, 0.3, 1000),
    stepAt: fc.constantFrom(1, 3, 16),
    isPadded: fc.boolean(),
  });
  const counts = fc.array(
    fc.oneof(fc.integer({ min: 1, max: 2000 }), fc.double({ min: 0.01, max: 99, noNaN: true })),
    {
      minLength: 1,
      maxLength: 20,
    },
  );
  fc.assert(
    fc.property(
      problems,
      counts,
      fc.double({ min: 0, max: 1e6, noNaN: true }),
      (given, counts, residualMs) => {
        const { slots, maxBatchSize, ratePerMs, fixedMs, perItemMs, stepAt, isPadded } = given;
        const durationMs: Duration = (cost) =>
          fixedMs + perItemMs * (isPadded ? stepAt * Math.ceil(cost / stepAt) : cost);
        const steps = [stepAt, 2 * stepAt].filter((size) => size < maxBatchSize);
        const bestSize = bestSizeOf(durationMs, maxBatchSize);
        const plan = new DispatchPlan({
          ...{ slots, maxBatchSize, ratePerMs, durationMs, bestSize },
          ...{ sizes: steps, steps },
        });
        plan.work(100_000);
        if (!plan.isUseful) return;
        useful += 1;
        for (const count of counts) {
          const residual = slots === 1 ? 0 : residualMs;
          const size = plan.sizeFor(count, residual);
          expect(size).toBeGreaterThanOrEqual(slots === 1 || residual === 0 ? Number.MIN_VALUE : 0);
          expect(size).toBeLessThanOrEqual(Math.min(count, maxBatchSize));
          expect(plan.waitMs(count, Math.min(residual, 50 * durationMs(maxBatchSize)))).toBeGreaterThan(0);
        }
      },
    ),
    { numRuns: 60 },
  );
  expect(useful).toBeGreaterThan(5);
});
