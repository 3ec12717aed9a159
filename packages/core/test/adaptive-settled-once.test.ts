/** The random life of a batcher once more, with the adaptive policy and much for it to think about. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Scenario } from './support/scenario.js';
import { call, type Setup, type Step, script, setup } from './support/script.js';

const policy = fc.constantFrom('adaptive' as const, 'efficiency' as const);
const targetLatencyMs = fc.constantFrom(5, 30, 100, Number.POSITIVE_INFINITY);

const CURVES = [
  [
    { cost: 1, durationMs: 2 },
    { cost: 8, durationMs: 9 },
  ],
  [
    { cost: 1, durationMs: 4 },
    { cost: 4, durationMs: 4.5 },
    { cost: 5, durationMs: 20 },
  ],
];

const setups: fc.Arbitrary<Setup> = fc
  .record({ setup, policy, targetLatencyMs, curve: fc.constantFrom(undefined, ...CURVES) })
  .map(({ setup, policy, targetLatencyMs, curve }) => ({
    ...setup,
    limits: { ...setup.limits, policy, targetLatencyMs },
    ...(curve === undefined ? {} : { curve }),
  }));

/** Some batches that go well, as many as it takes to learn something, and then anything. */
const steps: fc.Arbitrary<Step[]> = fc
  .record({
    rounds: fc.constantFrom(0, 0, 3, 18),
    calls: fc.array(call, { minLength: 1, maxLength: 3 }),
    takesMs: fc.constantFrom(0, 1, 4, 10),
    policy,
    script,
  })
  .map(({ rounds, calls, takesMs, policy, script }) => {
    const round: Step[] = [
      ...calls.map((call): Step => ({ do: 'enqueue', call: { ...call, options: {} } })),
      { do: 'advance', ms: takesMs },
      { do: 'answer', which: 0, answer: 'results' },
    ];
    const learned = Array.from({ length: rounds }, () => round).flat();
    const stays = script.map(
      (step): Step =>
        step.do === 'configure' && step.limits.policy !== undefined
          ? { do: 'configure', limits: { ...step.limits, policy } }
          : step,
    );
    return [...learned, ...stays];
  });

test('whatever happens, in whatever order, the adaptive policy settles everybody once and keeps the limits', async () => {
  await fc.assert(
    fc.asyncProperty(setups, steps, async (given, steps) => {
      const scenario = new Scenario(given);
      for (const step of steps) await scenario.run(step);
      const { policyErrors, lastPolicyError } = scenario.batcher.stats();
      expect([policyErrors, lastPolicyError]).toEqual([0, undefined]);
      await scenario.end();
    }),
    { numRuns: 100 },
  );
});
