/** The optimum for two slots as a contender, to be run on the very arrivals that the others get. */
import type { Decision, QueueView, RunningWork } from 'batchwise';
import type { Contender } from '../simulation/contender.js';
import type { Curve } from '../simulation/curve.js';
import type { TwoSlotTable } from './two-slot-optimum.js';

export function twoSlotContender(curve: Curve, { stepMs, limit, actions }: TwoSlotTable): Contender {
  const actionAt = (waiting: number, step: number): number =>
    actions[step * (limit + 1) + Math.min(waiting, limit)] as number;

  /** When the other slot's remainder is down to where the table no longer says to wait. */
  const changesAt = (waiting: number, step: number, endsAt: number, now: number): number => {
    for (let lower = step - 1; lower > 0; lower--) {
      if (actionAt(waiting, lower) === 0) continue;
      const at = endsAt - (lower + 0.5) * stepMs;
      // Rounding may put the edge just behind: then it is crossed as good as now.
      return at > now ? at : now + stepMs * 1e-6;
    }
    return Number.POSITIVE_INFINITY; // the end of the other batch is a reason to ask by itself
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
