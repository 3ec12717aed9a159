/**
 * The rules of other batching systems, each written from its description, to be measured against. They
 * get the target where their rule has one; the batcher's own door stays open for them, as they know
 * nothing like it.
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
  // Triton's delay binds late: only when a slot is free is it asked whether the batch is full or its
  // oldest item has waited long enough. That is the window of the core.
  rule('triton-0', () => window({ maxWaitMs: 0 })),
  rule('triton-2', () => window({ maxWaitMs: 2 })),
  rule('triton-10', () => window({ maxWaitMs: 10 })),
  rule('clipper', ({ targetMs }) => clipper(targetMs)),
  rule('bentoml', ({ targetMs }) => bentoml(targetMs)),
  rule('nexus', ({ targetMs }) => nexus(targetMs)),
];

export function peer(name: string): Contender {
  const found = PEERS.find((candidate) => candidate.name === name);
  if (found === undefined) throw new RangeError(`There is no peer ${name}.`);
  return found;
}

function rule(name: string, policy: (scenario: Scenario) => Policy): Contender {
  return { name, policy, knowsTarget: false };
}
