/**
 * The minimum mean latency of all policies with two slots and Poisson arrivals, up to the discretization of the busy
 * slot's remaining time, and the policy that reaches it. Takes seconds to minutes; see `stored-two-slots.ts` for the
 * stored results.
 */
import type { Decision, QueueView, RunningWork } from 'batchwise';
import { type Curve, capacity } from '../simulation/curve.js';
import type { Contender } from '../simulation/scenario.js';
import { type Change, TwoSlotProcess } from './two-slot-process.js';

export interface TwoSlotOptimum {
  readonly perMs: number;
  readonly meanMs: number;
  readonly table: TwoSlotTable;
}

/** The optimal action by remaining time of the other slot and queue length. */
export interface TwoSlotTable {
  readonly stepMs: number;
  /** The longest queue of the table; it stands for all longer ones. */
  readonly limit: number;
  /** By step of remaining time, then queue length: how many items to dispatch; 0 to wait. */
  readonly actions: Uint16Array;
}

export interface TwoSlotOptions {
  /** Steps of remaining time for the longest batch, at least; up to twice as many. */
  readonly steps?: number;
  /** Relative error of the mean at which to stop. */
  readonly tolerance?: number;
}

/** Evaluation sweeps per improvement sweep, which takes about as long as all of them. */
const EVALUATIONS = 40;
const MAX_ROUNDS = 200;

export function twoSlotOptimum(curve: Curve, perMs: number, options: TwoSlotOptions = {}): TwoSlotOptimum {
  const { steps = 100, tolerance = 1e-7 } = options;
  const process = new TwoSlotProcess(curve, perMs, fittingStepMs(curve, steps));
  const { size, ms } = quickest(curve);
  const usual = Math.round(Math.min(perMs * ms, size));
  let inSystem = perMs * ms;

  // Relative value iteration: relative costs converge when the estimate equals the mean number of items in the system,
  // and rise when it is too low. So the estimate follows the cost of a frequent state, damped: as if a sweep spanned
  // several batches, which is longer than it does.
  const sweepMs = 8 * ms + 2 / perMs;
  const follow = (sweep: (perMsCost: number) => Change): Change => {
    const before = process.relativeCost(usual, 0);
    const change = sweep(inSystem);
    inSystem += (process.relativeCost(usual, 0) - before) / sweepMs;
    return change;
  };
  for (let round = 0; round < MAX_ROUNDS; round++) {
    for (let i = 0; i < EVALUATIONS; i++) follow((perMsCost) => process.evaluate(perMsCost));
    const { least, most } = follow((perMsCost) => process.improve(perMsCost));
    if (Math.max(-least, most) > tolerance * inSystem * ms) continue;
    const { stepMs, limit, actions } = process;
    return { perMs, meanMs: inSystem / perMs, table: { stepMs, limit, actions } };
  }
  throw new Error(`Curve ${curve.name} at ${perMs} items/ms: no optimum after ${MAX_ROUNDS} rounds.`);
}

function quickest(curve: Curve): { size: number; ms: number } {
  const { size } = capacity(curve);
  return { size, ms: curve.durationMs(size) };
}

/** Of the step lengths that divide the longest batch into `steps` to 2 × `steps`, the one that fits most durations. */
function fittingStepMs(curve: Curve, steps: number): number {
  const durations = Array.from({ length: curve.maxBatchSize }, (_, i) => curve.durationMs(i + 1));
  const longest = Math.max(...durations);
  let best = { stepMs: longest / steps, misfit: Number.POSITIVE_INFINITY };
  for (let count = steps; count < 2 * steps; count++) {
    const stepMs = longest / count;
    const misfit = durations.reduce((sum, ms) => sum + Math.abs(ms / stepMs - Math.round(ms / stepMs)), 0);
    if (misfit < best.misfit - 1e-6) best = { stepMs, misfit };
  }
  return best.stepMs;
}

/** The optimum as a contender, for the same arrivals as the other contenders. */
export function twoSlotContender(curve: Curve, { stepMs, limit, actions }: TwoSlotTable): Contender {
  const actionAt = (waiting: number, step: number): number =>
    actions[step * (limit + 1) + Math.min(waiting, limit)] as number;

  /** The time at which the remaining time of the other slot reaches a step at which the action is to dispatch. */
  const changesAt = (waiting: number, step: number, endsAt: number, now: number): number => {
    for (let lower = step - 1; lower > 0; lower--) {
      if (actionAt(waiting, lower) === 0) continue;
      const at = endsAt - (lower + 0.5) * stepMs;
      // Because of rounding the edge may be just before now.
      return at > now ? at : now + stepMs * 1e-6;
    }
    return Number.POSITIVE_INFINITY; // the end of the other batch causes a decision anyway
  };

  const decide = ({ length, limits, freeSlots, running }: QueueView, now: number): Decision => {
    const other = freeSlots === 1 ? (running[0] as RunningWork) : undefined;
    const endsAt = other === undefined ? now : other.startedAt + curve.durationMs(other.cost);
    const step = Math.max(0, Math.round((endsAt - now) / stepMs));
    const count = actionAt(length, step);
    if (count === 0) return { action: 'wait', until: changesAt(length, step, endsAt, now) };
    return { action: 'dispatch', count, reason: count >= limits.maxBatchSize ? 'full' : 'idle' };
  };
  return {
    name: 'optimum',
    policy(scenario) {
      if (scenario.curve.name !== curve.name || scenario.slots !== 2) {
        throw new RangeError(`This optimum is for two slots of curve ${curve.name}.`);
      }
      return { name: 'optimum', decide };
    },
    knowsTarget: false,
  };
}
