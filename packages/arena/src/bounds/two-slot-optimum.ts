/**
 * The least mean latency that any policy can have with two slots and Poisson arrivals, as near as a table
 * of the busy slot's remainder allows, and the policy that has it. Takes seconds to minutes: what the
 * arena needs is stored, see `stored-two-slots.ts`.
 */
import { type Curve, capacity } from '../simulation/curve.js';
import { type Change, TwoSlotProcess } from './two-slot-process.js';

export interface TwoSlotOptimum {
  readonly perMs: number;
  readonly meanMs: number;
  readonly table: TwoSlotTable;
}

/** What to do, by how long the other slot will be busy and how many wait. */
export interface TwoSlotTable {
  readonly stepMs: number;
  /** The longest queue of the table; longer ones are treated alike. */
  readonly limit: number;
  /** By steps of remainder, then queue: how many to dispatch; 0 to wait. */
  readonly actions: Uint16Array;
}

export interface TwoSlotOptions {
  /** How finely the remainder is tabled: the longest batch has so many steps or up to twice as many. */
  readonly steps?: number;
  /** The relative error of the mean at which to stop. */
  readonly tolerance?: number;
}

/** Sweeps between two looks for better actions, one of which takes about as long as all of these. */
const EVALUATIONS = 40;
const MOST_ROUNDS = 200;

export function twoSlotOptimum(curve: Curve, perMs: number, options: TwoSlotOptions = {}): TwoSlotOptimum {
  const { steps = 100, tolerance = 1e-7 } = options;
  const process = new TwoSlotProcess(curve, perMs, fittingStepMs(curve, steps));
  const { size, ms } = quickest(curve);
  const usual = Math.round(Math.min(perMs * ms, size));
  let inSystem = perMs * ms;

  // Relative costs stand still when a millisecond is worth exactly the mean number in the system, and rise
  // when it is worth less, by the difference times what one sweep spans. So the worth follows a usual
  // state's cost, and slowly: as if a sweep spanned several batches, which is more than it ever does.
  const sweepMs = 8 * ms + 2 / perMs;
  const follow = (sweep: (worth: number) => Change): Change => {
    const before = process.relativeCost(usual, 0);
    const change = sweep(inSystem);
    inSystem += (process.relativeCost(usual, 0) - before) / sweepMs;
    return change;
  };
  for (let round = 0; round < MOST_ROUNDS; round++) {
    for (let i = 0; i < EVALUATIONS; i++) follow((worth) => process.evaluate(worth));
    const { least, most } = follow((worth) => process.improve(worth));
    if (Math.max(-least, most) > tolerance * inSystem * ms) continue;
    const { stepMs, limit, actions } = process;
    return { perMs, meanMs: inSystem / perMs, table: { stepMs, limit, actions } };
  }
  throw new Error(`Curve ${curve.name} at ${perMs} items/ms: no optimum after ${MOST_ROUNDS} rounds.`);
}

function quickest(curve: Curve): { size: number; ms: number } {
  const { size } = capacity(curve);
  return { size, ms: curve.durationMs(size) };
}

/** The step that batches of most sizes end on, among those that part the longest into `steps` to twice as many. */
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
