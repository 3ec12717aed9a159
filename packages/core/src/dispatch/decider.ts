/**
 * Calls the policy. `close()`, `flush()` and `maxWaitMs` overrule it. When it throws or its decision is invalid, the
 * whole group is dispatched, and also when it changes the queue instead of deciding about it.
 */

import { reasonToDispatch } from '../policy/greedy-policy.js';
import { type Decision, type Reason, validDecision, type WaitingGroup } from '../policy/policy.js';
import type { Group } from '../queue/group.js';
import type { Dispatcher } from './dispatcher.js';
import { GroupView } from './group-view.js';

export class Decider {
  readonly #dispatcher: Dispatcher;
  readonly #view: GroupView;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
    this.#view = new GroupView(dispatcher);
  }

  /** The next group: of those that the queue leaves equal, the one that the policy chooses. */
  nextGroup(now: number): Group | undefined {
    const { queue, settings, deadlines, groups, placement, isOpen } = this.#dispatcher;
    const { policy, targetLatencyMs, maxBatchSize } = settings;
    const first = queue.next;
    const earliest = Math.min(targetLatencyMs, deadlines.earliest);
    if (policy.nextGroup === undefined || earliest === Number.POSITIVE_INFINITY || !isOpen) return first;
    const rivals = queue.rivals();
    if (rivals.length < 2) return first;
    const waiting = rivals.map(
      (group): WaitingGroup => ({
        cost: Math.min(group.cost, maxBatchSize),
        deadline: group.deadline(targetLatencyMs),
        curve: groups.of(group.key).curve,
      }),
    );
    const next = this.#ask(() => {
      const chosen = rivals[policy.nextGroup?.(waiting, placement.slots, now) ?? -1];
      if (chosen === undefined)
        throw new TypeError(`nextGroup must return a position from 0 to ${rivals.length - 1}`);
      return chosen;
    });
    return next ?? queue.next;
  }

  /** What to do with a group. */
  decide(group: Group, now: number): Decision {
    if (!this.#dispatcher.isOpen) return this.#everything(group, 'drain');
    if (group.isFlushed) return this.#everything(group, 'manual');
    const { policy, maxWaitMs } = this.#dispatcher.settings;
    const view = this.#view.show(group);
    const decision =
      this.#ask(() => validDecision(policy.decide(view, now), now, group.length)) ?? this.#everything(group);
    view.hide();
    const isHeldTooLong = now >= group.oldestAt + maxWaitMs;
    return decision.action === 'wait' && isHeldTooLong ? this.#everything(group, 'window') : decision;
  }

  /** Calls the policy; undefined if it fails. A broken policy must not stop the service. */
  #ask<T>(policy: () => T): T | undefined {
    const { queue, ledger } = this.#dispatcher;
    const { changes } = queue;
    try {
      const answer = policy();
      if (queue.changes !== changes) throw new TypeError('a policy must not change the queue');
      return answer;
    } catch (error) {
      ledger.policyFailed(error);
      return undefined;
    }
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
