/**
 * Calls the policy. `close()`, `flush()` and `maxWaitMs` overrule it. When it throws or its decision is invalid, the
 * whole group is dispatched. A decision is outdated if the policy has changed the queue; then it is called again.
 */

import { reasonToDispatch } from '../policy/greedy-policy.js';
import { type Decision, type Reason, validDecision, type WaitingGroup } from '../policy/policy.js';
import type { Group } from '../queue/group.js';
import type { Dispatcher } from './dispatcher.js';
import { GroupView } from './group-view.js';

/** How many decisions in a row may be outdated, before the next batch is dispatched without the policy. */
const MAX_OUTDATED_DECISIONS = 3;

export class Decider {
  readonly #dispatcher: Dispatcher;
  readonly #view: GroupView;
  #outdatedDecisions = 0;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
    this.#view = new GroupView(dispatcher);
  }

  /** The next group: of those that the queue leaves equal, the one that the policy chooses. */
  nextGroup(now: number): Group | undefined {
    const { queue, settings, deadlines, groups, slots, isOpen, ledger } = this.#dispatcher;
    const { policy, targetLatencyMs, maxBatchSize } = settings;
    const first = queue.next;
    const earliest = Math.min(targetLatencyMs, deadlines.earliest);
    if (policy.nextGroup === undefined || earliest === Number.POSITIVE_INFINITY || !isOpen) return first;
    const rivals = queue.rivals();
    if (rivals.length < 2) return first;
    const { changes } = queue;
    let next: Group | undefined;
    try {
      const waiting = rivals.map(
        (group): WaitingGroup => ({
          cost: Math.min(group.cost, maxBatchSize),
          deadline: group.deadline(targetLatencyMs),
          curve: groups.of(group.key).curve,
        }),
      );
      next = rivals[policy.nextGroup(waiting, slots, now)];
      if (next === undefined)
        throw new TypeError(`nextGroup must return a position from 0 to ${rivals.length - 1}`);
    } catch (error) {
      ledger.policyFailed(error);
    }
    return changes === queue.changes ? (next ?? first) : queue.next;
  }

  /** What to do with a group; undefined if the policy's decision is outdated. */
  decide(group: Group, now: number): Decision | undefined {
    if (!this.#dispatcher.isOpen) return this.#everything(group, 'drain');
    if (group.isFlushed) return this.#everything(group, 'manual');
    if (this.#outdatedDecisions === MAX_OUTDATED_DECISIONS) {
      this.#outdatedDecisions = 0;
      return this.#everything(group);
    }
    const decision = this.#ask(group, now);
    this.#outdatedDecisions = decision === undefined ? this.#outdatedDecisions + 1 : 0;
    const isHeldTooLong = now >= group.oldestAt + this.#dispatcher.settings.maxWaitMs;
    return decision?.action === 'wait' && isHeldTooLong ? this.#everything(group, 'window') : decision;
  }

  #ask(group: Group, now: number): Decision | undefined {
    const view = this.#view.show(group);
    let decision: Decision | undefined;
    try {
      decision = validDecision(this.#dispatcher.settings.policy.decide(view, now), now, group.length);
    } catch (error) {
      // A broken policy must not stop the service.
      this.#dispatcher.ledger.policyFailed(error);
    }
    const isOutdated = view.isOutdated;
    view.hide();
    return isOutdated ? undefined : (decision ?? this.#everything(group));
  }

  #everything({ cost, length }: Group, reason?: Reason): Decision {
    const { settings, queue } = this.#dispatcher;
    return {
      action: 'dispatch',
      count: Number.POSITIVE_INFINITY,
      reason: reason ?? reasonToDispatch(cost, settings.maxBatchSize, queue.length - length),
    };
  }
}
