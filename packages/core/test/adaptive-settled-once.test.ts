/** Random operations on a batcher with the adaptive policy, after traffic from which it learns. */
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

/** Some successful batches, from which the policy learns, and then a random script. */
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

test('under random operations with the adaptive policy, every item is settled once and all limits hold', async () => {
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
