/**
 * Asks the policy, and keeps what it answers within bounds: limits and orders from outside come first,
 * a policy that throws or talks nonsense is gone without, and one that changes what it was asked about
 * is asked again.
 */

import type { Ledger } from '../batch/ledger.js';
import { reasonToLeave } from '../policy/greedy-policy.js';
import { type Decision, type Limits, type Policy, type Reason, validDecision } from '../policy/policy.js';
import type { Group } from '../queue/group.js';
import { GroupView, type ViewedBatcher } from './group-view.js';

export interface DecidingBatcher extends ViewedBatcher {
  readonly settings: Limits & {
    readonly concurrency: number;
    readonly groupOf: unknown;
    readonly policy: Policy;
  };
  readonly isOpen: boolean;
  readonly ledger: Ledger;
}

/** How often in a row a policy may change what it is asked about before it is no longer asked. */
const MOST_VAIN_QUESTIONS = 3;

export class Decider {
  readonly #batcher: DecidingBatcher;
  readonly #view: GroupView;
  #isAsking = false;
  #vainQuestions = 0;

  constructor(batcher: DecidingBatcher) {
    this.#batcher = batcher;
    this.#view = new GroupView(batcher);
  }

  /** What to do about a group; undefined when the question has changed while the policy thought about it. */
  decide(group: Group, now: number): Decision | undefined {
    if (!this.#batcher.isOpen) return this.#everything(group, 'drain');
    if (group.isFlushed) return this.#everything(group, 'manual');
    if (this.#vainQuestions === MOST_VAIN_QUESTIONS) {
      this.#vainQuestions = 0;
      return this.#everything(group);
    }
    const decision = this.#ask(group, now);
    this.#vainQuestions = decision === undefined ? this.#vainQuestions + 1 : 0;
    if (decision?.action !== 'wait' || now < group.oldestAt + this.#batcher.settings.maxWaitMs)
      return decision;
    // Asked again as soon as these are gone.
    if (decision.refuseAt !== undefined && decision.refuseAt.length > 0) return decision;
    return { ...this.#everything(group, 'window'), refuse: decision.refuse ?? 0 };
  }

  /** To be called before anything changes what a policy may be looking at. */
  interrupt(): void {
    if (!this.#isAsking) return;
    this.#isAsking = false;
    this.#view.hide();
  }

  /** To be called before somebody reads what waits: what a policy has looked at is out of line meanwhile. */
  putBack(): void {
    if (this.#isAsking) this.#view.putBack();
  }

  #ask(group: Group, now: number): Decision | undefined {
    this.#isAsking = true;
    try {
      const decision = validDecision(this.#batcher.settings.policy.decide(this.#view.show(group), now), now);
      return this.#isAsking ? decision : undefined;
    } catch (error) {
      // A broken policy must not stop the service.
      this.#batcher.ledger.policyFailed(error);
      this.#view.hide(); // what it looked at is part of the group again
      return this.#isAsking ? this.#everything(group) : undefined;
    } finally {
      this.#isAsking = false;
      this.#view.hide();
    }
  }

  #everything({ cost, length }: Group, reason?: Reason): Decision {
    const { settings, queue } = this.#batcher;
    return {
      action: 'dispatch',
      count: Number.POSITIVE_INFINITY,
      reason: reason ?? reasonToLeave(cost, settings.maxBatchSize, queue.length - length),
    };
  }
}
