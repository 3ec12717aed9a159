import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DispatchPlan } from '../src/policy/plan/dispatch-plan.js';
import type { PlanProblem } from '../src/policy/plan/plan-problem.js';

type Duration = (cost: number) => number;

const straight: Duration = (cost) => 5 + 0.1 * cost;
const padded: Duration = (cost) => 2 + 0.25 * 2 ** Math.ceil(Math.log2(Math.max(1, cost)));
const POWERS = [1, 2, 4, 8, 16, 32];

/** At a share of what the slots can do with full batches. */
function problem(durationMs: Duration, load: number, changes: Partial<PlanProblem> = {}): PlanProblem {
  const { maxBatchSize = 64, slots = 1 } = changes;
  const ratePerMs = (load * slots * maxBatchSize) / durationMs(maxBatchSize);
  return { slots, maxBatchSize, ratePerMs, durationMs, sizes: POWERS, steps: [], ...changes };
}

function solved(given: PlanProblem, similar?: DispatchPlan): DispatchPlan {
  const plan = new DispatchPlan(given, similar);
  plan.work(1e8);
  return plan;
}

const upTo = (last: number) => Array.from({ length: last }, (_, i) => i + 1);

describe('with one slot', () => {
  test.each([0.05, 0.3, 0.6, 0.9])(
    'and a cost that grows evenly, it leaves with all that waits, at load %d',
    (load) => {
      const plan = solved(problem(straight, load));
      expect(plan.isSolved).toBe(true);
      expect(upTo(64).map((count) => plan.sizeFor(count, 0))).toEqual(upTo(64));
      expect([65, 100, 127, 1000].map((count) => plan.sizeFor(count, 0))).toEqual([64, 64, 64, 64]);
    },
  );

  test('it never waits: nobody knows when the next comes', () => {
    for (const load of [0.02, 0.5, 0.9]) {
      const plan = solved(problem(padded, load, { steps: POWERS }));
      for (const count of upTo(200)) expect(plan.sizeFor(count, 0)).toBeGreaterThan(0);
    }
  });

  test.each([0.5, 0.7, 0.85])(
    'and a backend that pads, it stops at the step below rather than be padded to the next, at load %d',
    (load) => {
      const plan = solved(problem(padded, load, { steps: POWERS }));
      expect(plan.isUseful).toBe(true);
      // Just above a step most of the batch would be padding; at a step there is none.
      expect([17, 33, 34].map((count) => plan.sizeFor(count, 0))).toEqual([16, 32, 32]);
      expect([8, 16, 32].map((count) => plan.sizeFor(count, 0))).toEqual([8, 16, 32]);
    },
  );

  test('and a backend that is worse past a size, it stops there, however much waits', () => {
    const worsePast16: Duration = (cost) => (cost <= 16 ? 4 + 0.1 * cost : 5.6 + 2 * (cost - 16));
    const ratePerMs = 0.7 * (16 / worsePast16(16));
    const plan = solved(problem(worsePast16, 0, { ratePerMs, sizes: [8, 16, 32], steps: [16] }));
    for (const count of [16, 17, 20, 32, 64, 200, 5000]) expect(plan.sizeFor(count, 0)).toBe(16);
  });
});

describe('with two slots', () => {
  const mostlyByItem: Duration = (cost) => 1 + 0.8 * cost;

  test('and both free, it shares what waits between them when that is quicker', () => {
    const plan = solved(problem(mostlyByItem, 0.5, { slots: 2, maxBatchSize: 32 }));
    expect(plan.isUseful).toBe(true);
    for (const count of [8, 16, 24]) {
      expect(plan.sizeFor(count, 0)).toBeLessThan(count);
      expect(plan.sizeFor(count, 0)).toBeGreaterThan(0);
    }
  });

  test('and both free, it shares as it is best, not only in the sizes to consider', () => {
    const plan = solved(problem(mostlyByItem, 0.5, { slots: 2, maxBatchSize: 32, sizes: [4, 8, 16] }));
    expect(plan.sizeFor(24, 0)).toBeLessThan(16);
    expect(plan.sizeFor(32, 0)).toBeGreaterThan(16);
  });

  test('the very time for which the other slot is busy counts, not a rounded one', () => {
    const plan = solved(problem(straight, 0.6, { slots: 2 }));
    const waitsFrom = (count: number) => {
      let tenths = 0;
      while (plan.sizeFor(count, tenths / 10) > 0) tenths += 1;
      return tenths;
    };
    // The more there are, the more it takes for the other slot to be worth waiting for.
    const from = [8, 12, 16, 20, 28, 36].map(waitsFrom);
    expect(new Set(from).size).toBe(from.length);
    expect(from).toEqual(from.toSorted((x, y) => x - y));
  });

  test('it lets a few wait, so that the slots take turns, only while the other is busy', () => {
    const plan = solved(problem(straight, 0.4, { slots: 2 }));
    const waits = (residualMs: number) => upTo(64).filter((count) => plan.sizeFor(count, residualMs) === 0);
    expect(waits(0)).toEqual([]);
    expect(Math.max(...[1, 3, 5, 8, 11].map((residualMs) => waits(residualMs).length))).toBeGreaterThan(0);
    for (const residualMs of [1, 3, 5, 8, 11]) expect(waits(residualMs)).not.toContain(64);
  });

  test('where a batch takes as long whatever its size, nothing is left for the other', () => {
    const plan = solved(problem(() => 10, 0.3, { slots: 2, maxBatchSize: 32 }));
    for (const count of upTo(32)) expect(plan.sizeFor(count, 0)).toBe(count);
  });

  test('what it says to wait ends by the time the other slot is free', () => {
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
  // What a queue beyond the last state is worth was read from the last two, which may lie next to each
  // other: values grew beyond all bounds, and there was no plan at all.
  test.each([0.3, 0.45, 0.6, 0.6375, 0.7, 0.8, 0.9])(
    'leads to a plan, wherever the states end: load %d',
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

  test.each(problems)('in slices comes to the same plan as in one go: %s', (_, given) => {
    const whole = solved(given);
    const sliced = new DispatchPlan(given);
    for (let slice = 1; !sliced.isSolved; slice = (slice % 97) + 1) {
      // To ask in between, as is done, changes nothing.
      sliced.work(slice);
      sliced.sizeFor(slice, 1);
    }
    for (const count of [...upTo(70), 100, 500]) {
      for (const residualMs of [0, 1, 5]) {
        expect(sliced.sizeFor(count, residualMs)).toBe(whole.sizeFor(count, residualMs));
      }
    }
  });

  test('is needed before the plan is worth anything', () => {
    const plan = new DispatchPlan(problem(padded, 0.7));
    expect([plan.isSolved, plan.isUseful]).toEqual([false, false]);
    plan.work(10);
    expect([plan.isSolved, plan.isUseful]).toEqual([false, false]);
  });

  test('is less when there is a plan for nearly the same', () => {
    const given = problem(padded, 0.7, { steps: POWERS });
    const similar = solved(problem(padded, 0.65, { steps: POWERS }));
    const untilUseful = (plan: DispatchPlan) => {
      let units = 0;
      for (; !plan.isUseful && units < 1e7; units += 1000) plan.work(1000);
      return units;
    };
    expect(untilUseful(new DispatchPlan(given, similar))).toBeLessThanOrEqual(
      untilUseful(new DispatchPlan(given)),
    );
    const [fresh, grown] = [solved(given), solved(given, similar)];
    const differ = upTo(128).filter((count) => fresh.sizeFor(count, 0) !== grown.sizeFor(count, 0));
    expect(differ.length).toBeLessThan(128 / 8);
  });
});

describe('nonsense', () => {
  const nonsense: [string, Partial<PlanProblem>][] = [
    ['durations that are no numbers', { durationMs: () => Number.NaN }],
    ['durations of nothing', { durationMs: () => 0 }],
    ['a rate that is no number', { ratePerMs: Number.NaN }],
  ];
  test.each(nonsense)('makes no useful plan: %s', (_, changes) => {
    for (const slots of [1, 2] as const) {
      const plan = new DispatchPlan(
        problem(straight, 0.5, { slots, maxBatchSize: 16, sizes: [4], ...changes }),
      );
      plan.work(1e6);
      expect(plan.isUseful).toBe(false);
    }
  });
});

test('whatever the rate, the curve and the sizes, a plan that is useful says what can be done', () => {
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
        const plan = new DispatchPlan({ slots, maxBatchSize, ratePerMs, durationMs, sizes: steps, steps });
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
