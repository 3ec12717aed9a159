/** A policy to compare, and what its batcher is configured with. */
import type { CurvePoint, Policy } from 'batchwise';
import type { Scenario } from './scenario.js';

export interface Contender {
  readonly name: string;
  /** Returns a new policy, which has learned nothing, for one run. */
  policy(scenario: Scenario): Policy;
  /** Whether `targetLatencyMs` of the batcher is set. */
  readonly knowsTarget: boolean;
  /** Whether admission control rejects items that cannot meet the target. @default true */
  readonly admission?: boolean;
  /** The `curve` option of the batcher: true for the true service curve. @default false: the curve is learned */
  readonly knowsCurve?: boolean | readonly CurvePoint[];
}
