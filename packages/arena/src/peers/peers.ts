/**
 * The rules of other batching systems, implemented from their descriptions. They get the target where their rule has
 * one; the batcher's own admission control is off, because these systems have none.
 */
import { greedy, type Policy, window } from 'batchwise';
import type { Contender, Scenario } from '../simulation/scenario.js';
import { bentoml } from './bentoml-policy.js';
import { clipper } from './clipper-policy.js';
import { earlyWindow } from './early-window-policy.js';
import { nexus } from './nexus-policy.js';

export const PEERS: readonly Contender[] = [
  rule('greedy', () => greedy()),
  rule('window-2', () => earlyWindow(2)),
  rule('window-10', () => earlyWindow(10)),
  // Triton's delay is checked when a slot is free: dispatch if the batch is full or its oldest item has waited that
  // long. That is `window()` of the core.
  rule('triton-0', () => window({ maxWaitMs: 0 })),
  rule('triton-2', () => window({ maxWaitMs: 2 })),
  rule('triton-10', () => window({ maxWaitMs: 10 })),
  rule('clipper', ({ targetLatencyMs }) => clipper(targetLatencyMs)),
  rule('bentoml', ({ targetLatencyMs }) => bentoml(targetLatencyMs)),
  rule('nexus', ({ targetLatencyMs }) => nexus(targetLatencyMs)),
];

export function peer(name: string): Contender {
  const found = PEERS.find((candidate) => candidate.name === name);
  if (found === undefined) throw new RangeError(`There is no peer ${name}.`);
  return found;
}

function rule(name: string, policy: (scenario: Scenario) => Policy): Contender {
  return { name, policy, knowsTarget: false };
}
