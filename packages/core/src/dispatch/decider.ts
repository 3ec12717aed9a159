/**
 * Asks the policy. Limits and orders from outside come first; when the policy throws, or its decision is
 * invalid, everything is dispatched; a policy that changes the queue while it decides is asked again.
 */

import type { Ledger } from '../batch/ledger.js';
import { reasonToDispatch } from '../policy/greedy-policy.js';
import { type Decision, type Limits, type Policy, type Reason, validDecision } from '../policy/policy.js';
import type { Group } from '../queue/group.js';
import { GroupView, type ViewedBatcher } from './group-view.js';

export interface DecidingBatcher extends ViewedBatcher {
  readonly settings: Limits & {
    readonly groupOf: unknown;
    readonly policy: Policy;
  };
  readonly isOpen: boolean;
  readonly ledger: Ledger;
}

/** How often in a row a policy may change the queue while it decides before the next batch is dispatched without it. */
const MOST_VAIN_QUESTIONS = 3;

export class Decider {
  readonly #batcher: DecidingBatcher;
  readonly #view: GroupView;
  #vainQuestions = 0;

  constructor(batcher: DecidingBatcher) {
    this.#batcher = batcher;
    this.#view = new GroupView(batcher);
  }

  /** What to do about a group; undefined when the policy has changed the queue while it decided. */
  decide(group: Group, now: number): Decision | undefined {
    if (!this.#batcher.isOpen) return this.#everything(group, 'drain');
    if (group.isFlushed) return this.#everything(group, 'manual');
    if (this.#vainQuestions === MOST_VAIN_QUESTIONS) {
      this.#vainQuestions = 0;
      return this.#everything(group);
    }
    const decision = this.#ask(group, now);
    this.#vainQuestions = decision === undefined ? this.#vainQuestions + 1 : 0;
    const isHeldTooLong = now >= group.oldestAt + this.#batcher.settings.maxWaitMs;
    return decision?.action === 'wait' && isHeldTooLong ? this.#everything(group, 'window') : decision;
  }

  #ask(group: Group, now: number): Decision | undefined {
    const view = this.#view.show(group);
    let decision: Decision | undefined;
    try {
      decision = validDecision(this.#batcher.settings.policy.decide(view, now), now, group.length);
    } catch (error) {
      // A broken policy must not stop the service.
      this.#batcher.ledger.policyFailed(error);
    }
    const isOutdated = view.isOutdated;
    view.hide();
    return isOutdated ? undefined : (decision ?? this.#everything(group));
  }

  #everything({ cost, length }: Group, reason?: Reason): Decision {
    const { settings, queue } = this.#batcher;
    return {
      action: 'dispatch',
      count: Number.POSITIVE_INFINITY,
      reason: reason ?? reasonToDispatch(cost, settings.maxBatchSize, queue.length - length),
    };
  }
}
