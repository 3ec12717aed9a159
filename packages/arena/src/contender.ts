/** Somebody who decides when batches leave: a policy, and what it may know. */
import type { Policy } from 'batchwise';
import type { Scenario } from './scenario.js';

export interface Contender {
  readonly name: string;
  /** A policy for one run, with nothing learned yet. */
  policy(scenario: Scenario): Policy;
  /** Whether the batcher knows the target, and so refuses at the door what cannot make it. */
  readonly knowsTarget: boolean;
  /** Whether the batcher begins with the true service curve instead of learning it. */
  readonly knowsCurve?: boolean;
}
