/** Somebody who decides when batches leave: a policy, and what it may know. */
import type { CurvePoint, Policy } from 'batchwise';
import type { Scenario } from './scenario.js';

export interface Contender {
  readonly name: string;
  /** A policy for one run, with nothing learned yet. */
  policy(scenario: Scenario): Policy;
  /** Whether the batcher knows the target. */
  readonly knowsTarget: boolean;
  /** Whether it refuses at the door what cannot make the target; true unless given. */
  readonly admission?: boolean;
  /** Whether the batcher begins with the true service curve instead of learning it; or what it knows of it. */
  readonly knowsCurve?: boolean | readonly CurvePoint[];
}
