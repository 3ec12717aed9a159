/** The bound for a scenario file, where one is known. */
import { closedLoopReference } from '../bounds/closed-loop-reference.js';
import { fluidGoodput } from '../bounds/fluid-goodput.js';
import { goodputOptimum } from '../bounds/goodput-optimum.js';
import { poissonOptimum } from '../bounds/poisson-optimum.js';
import { capacity } from '../simulation/curve.js';
import { randomStream } from '../simulation/random.js';
import type { Scenario } from '../simulation/scenario.js';

export interface ScenarioBound {
  readonly measure: 'mean_ms' | 'goodput';
  /**
   * `optimum`: of all policies. `clairvoyant`: of all schedules with all arrivals known in advance. `fluid`: a looser
   * upper bound. `reference`: closed loops with an equal share of users per slot, which is not a bound.
   */
  readonly kind: 'optimum' | 'clairvoyant' | 'fluid' | 'reference';
  readonly value: number;
}

/** Beyond these limits the exact bounds take minutes. */
const LARGEST_BATCH = 256;
const MAX_WORK = 2e7;

/** Undefined where none is known: with noise, faults or traits, and for the latency of arrivals other than Poisson. */
export function scenarioBound(scenario: Scenario): ScenarioBound | undefined {
  const { curve, slots, arrivals, targetLatencyMs, noise, traits, items } = scenario;
  const { backends, slowdown, tail, stalls, hang, measureFromMs, untilMs } = scenario;
  const unknown = [backends, traits, slowdown, tail, stalls, hang, measureFromMs, untilMs];
  if (noise > 0 || unknown.some((value) => value !== undefined)) return undefined;
  const hasTarget = targetLatencyMs !== Number.POSITIVE_INFINITY;
  if (arrivals.kind === 'closed') {
    if (hasTarget) return undefined;
    const { meanMs } = closedLoopReference(curve, slots, arrivals.users, arrivals.thinkMs);
    return { measure: 'mean_ms', kind: 'reference', value: meanMs };
  }
  if (hasTarget) {
    const arrivedAt = timesOf(scenario);
    if (slots > 1 || items * curve.maxBatchSize > MAX_WORK) {
      return {
        measure: 'goodput',
        kind: 'fluid',
        value: fluidGoodput(arrivedAt, curve, slots, targetLatencyMs),
      };
    }
    const { goodput } = goodputOptimum(arrivedAt, curve, targetLatencyMs);
    return { measure: 'goodput', kind: 'clairvoyant', value: goodput };
  }
  const { poissonPerMs } = arrivals;
  if (slots > 1 || poissonPerMs === undefined || poissonPerMs >= 0.99 * capacity(curve).perMs)
    return undefined;
  if (curve.maxBatchSize > LARGEST_BATCH) return undefined;
  return { measure: 'mean_ms', kind: 'optimum', value: poissonOptimum(curve, poissonPerMs).meanMs };
}

function timesOf({ arrivals, items, seed }: Scenario): Float64Array {
  if (arrivals.kind === 'closed') throw new RangeError('In a closed loop arrivals depend on the answers.');
  const next = arrivals.times(randomStream(seed, 'arrivals'));
  const times: number[] = [];
  for (let at = next(); at < Number.POSITIVE_INFINITY && times.length < items; at = next()) times.push(at);
  return Float64Array.from(times);
}
