/** Properties of all peers. */

import {
  type Contender,
  capacity,
  closedLoop,
  formulaCurve,
  PEERS,
  peer,
  poisson,
  type Scenario,
  simulate,
} from '@batchwise/arena';
import type { Policy } from 'batchwise';
import { expect, test } from 'vitest';
import { validDecision } from '../../../core/src/policy/policy.js';
import { traceScenario } from '../support/trace-scenario.js';

const curve = formulaCurve('5 + 0.1b', 32, (b) => 5 + 0.1 * b);

function under(load: number, changes: Partial<Scenario> = {}): Scenario {
  const { slots = 1 } = changes;
  const arrivals = poisson(load * slots * capacity(curve).perMs);
  return { ...traceScenario([], () => 1), curve, arrivals, items: 1500, noise: 0.05, timerMs: 1, ...changes };
}

/** The same policy, with errors for decisions that the batcher would correct. */
function strict(contender: Contender, complaints: unknown[]): Contender {
  const policy = (scenario: Scenario): Policy => {
    const judged = contender.policy(scenario);
    const observeBatch: Policy['observeBatch'] = (batch, now) => judged.observeBatch?.(batch, now);
    return {
      name: judged.name,
      observeBatch,
      decide(view, now) {
        try {
          const decision = judged.decide(view, now);
          return validDecision(decision, now, view.length);
        } catch (error) {
          complaints.push(error);
          throw error;
        }
      },
    };
  };
  return { ...contender, policy };
}

test('peers are found by name', () => {
  const names = [
    'greedy',
    'window-2',
    'window-10',
    'triton-0',
    'triton-2',
    'triton-10',
    'clipper',
    'bentoml',
    'nexus',
  ];
  expect(PEERS.map(({ name }) => name)).toEqual(names);
  for (const name of names) expect(peer(name).name).toBe(name);
  expect(() => peer('ours')).toThrow('There is no peer ours.');
});

test.each(PEERS)(
  '$name: every decision is valid, and every item is served or rejected',
  async (contender) => {
    const complaints: unknown[] = [];
    for (const scenario of [
      under(0.2),
      under(0.9, { slots: 2 }),
      under(1.3, { targetLatencyMs: 15 }),
      under(0.8, { targetLatencyMs: 4 }), // less than any batch takes
      under(0.8, {
        targetLatencyMs: 25,
        traits: (random) => ({ cost: 1 + Math.floor(8 * random()), group: random() < 0.3 }),
      }),
      under(1, { arrivals: closedLoop(40, 2), targetLatencyMs: 12 }),
    ]) {
      const run = await simulate(scenario, strict(contender, complaints));
      expect(run.latencyMs).toHaveLength(scenario.items);
      expect(run.latencyMs.filter((ms) => Number.isNaN(ms))).toHaveLength(run.refused);
      const batched = run.batches.reduce((sum, { size }) => sum + size, 0);
      expect(batched + run.refused).toBe(scenario.items);
    }
    expect(complaints).toEqual([]);
  },
);

test.each(PEERS)(
  '$name: without a target no item is rejected, and runs are deterministic',
  async (contender) => {
    const scenario = under(0.7);
    const [run, again] = [await simulate(scenario, contender), await simulate(scenario, contender)];
    expect(run.refused).toBe(0);
    expect(again.latencyMs).toEqual(run.latencyMs);
  },
);
