/**
 * The machine inside a batcher: asks the policy at the right moments, starts batches when slots are
 * free, and wakes itself with a single timer.
 *
 * When it decides. What arrives together leaves together, so a decision is taken at the end of the
 * event-loop turn, not at each submit. The exception: when the batch that is next in line is full,
 * waiting could not make it fuller, and it leaves with the next microtask.
 */
import { ArrivalRate } from './arrival-rate.js';
import { Cohort } from './cohort.js';
import { Deadlines, type Expiring } from './deadlines.js';
import { batchChannel } from './diagnostics.js';
import { Door } from './door.js';
import type { Entry, Moment } from './entry.js';
import type { BatchwiseError } from './errors.js';
import { reasonToLeave } from './greedy-policy.js';
import type { Group } from './group.js';
import { type Ending, Ledger } from './ledger.js';
import type { Settings } from './options.js';
import { type CompletedBatch, type Decision, type Reason, validDecision } from './policy.js';
import { GroupView } from './queue-view.js';
import { type BatchOwner, RunningBatch } from './running-batch.js';
import { ServiceCurve } from './service-curve.js';
import { type SharedWork, SharedWorks } from './shared-work.js';
import type { Tenant } from './tenants.js';
import { WaitingLine } from './waiting-line.js';

/**
 * For how long batches may follow each other within one turn of the event loop. Handlers that never
 * leave the thread would otherwise keep sockets, timers and cancellations waiting.
 */
const TURN_BUDGET_MS = 2;

/** How often a policy may change what it is asked about before it is no longer asked. */
const MOST_VAIN_QUESTIONS = 3;

const resolved = Promise.resolve();
const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number;

export class Dispatcher<I, R> implements BatchOwner {
  settings: Settings<I, R>;
  readonly deadlines = new Deadlines();
  readonly ledger = new Ledger();
  readonly line: WaitingLine;
  readonly sharedWorks = new SharedWorks();
  readonly curve = new ServiceCurve();
  readonly arrivals = new ArrivalRate();
  readonly running: RunningBatch[] = [];
  readonly door: Door<I, R> = new Door(this);
  lastDispatchAt = NEGATIVE_INFINITY;
  /** Items come in unasked: open, and no setting looks at the single item. */
  doorIsWide: boolean;

  readonly #view = new GroupView(this);
  #state: 'open' | 'closing' | 'closed' = 'open';
  readonly #whenClosed = deferred();
  /** What came until then leaves without being held. */
  #flushedAt = NEGATIVE_INFINITY;

  #moment: Moment | undefined = undefined;
  /** Whose time starts to run when the clock is next read, at the end of the turn at the latest. */
  #cohorts: Cohort[] = [];
  #turnIsOpen = false;
  #turnOpenedAt = 0;
  #fullIsDue = false;
  #isDispatching = false;
  #isDeciding = false;
  #endedWhileDispatching = false;

  #timer: unknown = undefined;
  #timerAt = POSITIVE_INFINITY;

  constructor(settings: Settings<I, R>) {
    this.settings = settings;
    this.doorIsWide = asksNothing(settings);
    this.line = new WaitingLine(this, settings.priorityAgeMs);
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  get state(): 'open' | 'closing' | 'closed' {
    return this.#state;
  }

  // ── arrivals ──

  /** The moment of all arrivals since the clock was last read. */
  currentMoment(): Moment {
    const moment = this.#moment ?? this.#beginMoment();
    moment.arrivals += 1;
    return moment;
  }

  #beginMoment(): Moment {
    const now = this.settings.clock.now();
    this.#openTurn(now);
    this.#moment = { at: now, arrivals: 0 };
    return this.#moment;
  }

  /** The callers of this moment with this time-out. */
  cohortOf(moment: Moment, timeoutMs: number): Cohort {
    let cohort = this.#cohorts.at(-1);
    if (cohort?.timeoutMs !== timeoutMs || cohort.moment !== moment) {
      cohort = new Cohort(timeoutMs, moment, this.deadlines);
      this.#cohorts.push(cohort);
    }
    return cohort;
  }

  append(entry: Entry, groupKey: unknown, tenant: Tenant, priority: number): void {
    this.#interrupt();
    const group = this.line.append(entry, groupKey, tenant, priority);
    this.ledger.queued += 1;
    if (group.cost >= this.settings.maxBatchSize && !this.#fullIsDue) this.#dispatchFullSoon();
  }

  #dispatchFullSoon(): void {
    if (!this.#hasFreeSlot) return;
    this.#fullIsDue = true;
    resolved.then(this.#dispatchFull);
  }

  /** Adds a caller to work that another has asked for. */
  join(entry: Entry, work: SharedWork): void {
    this.#interrupt();
    work.join(entry);
    const { lane, batch } = work.carrier;
    entry.lane = lane;
    if (batch === undefined) this.ledger.queued += 1;
    else {
      batch.join(entry);
      this.ledger.running += 1;
    }
  }

  /** Lets batches leave early, the full ones first, rather than refuse `count` newcomers while slots are free. */
  makeRoom(count: number): void {
    const now = this.settings.clock.now();
    this.#dispatch(now, false);
    if (this.ledger.queued + count > this.settings.maxQueueSize) this.#dispatch(now, true);
  }

  // ── endings other than an answer ──

  cancelled(entry: Entry, reason: unknown): void {
    this.#end(entry, 'cancelled', this.door.cancelledError(reason));
  }

  expired(entry: Entry): void {
    this.#end(entry, 'expired', this.door.expiredError());
  }

  #end(entry: Entry, ending: Ending, error: BatchwiseError): void {
    const { batch } = entry;
    this.#takeOut(entry);
    this.ledger.end(entry, ending, error);
    batch?.abortIfUnwanted();
    if (this.#isIdle) this.#rest();
  }

  /** Ends all who wait for an entry. One may give up in reaction to what another is told. */
  #endAll(entry: Entry, ending: Ending, error: BatchwiseError): void {
    for (const caller of [...(entry.shared?.callers ?? [entry])]) {
      if (!caller.settled) this.#end(caller, ending, error);
    }
  }

  /** Takes a caller out of the line or the batch it is in. */
  #takeOut(entry: Entry): void {
    this.#interrupt();
    const { batch, shared } = entry;
    if (batch === undefined) this.ledger.queued -= 1;
    else {
      this.ledger.running -= 1;
      batch.callers -= 1;
    }
    if (shared !== undefined) {
      shared.callers.delete(entry);
      if (shared.callers.size > 0) return;
      this.sharedWorks.end(shared);
    }
    if (batch === undefined) this.line.remove(shared?.carrier ?? entry);
  }

  // ── deciding ──

  #openTurn(now: number): void {
    if (this.#turnIsOpen) return;
    this.#turnIsOpen = true;
    this.#turnOpenedAt = now;
    this.settings.clock.defer(this.#endTurn);
  }

  readonly #endTurn = (): void => {
    this.#turnIsOpen = false;
    this.#recordArrivals();
    if (this.#state !== 'closed') this.#dispatch(this.settings.clock.now(), true);
  };

  #runCohorts(now: number): void {
    if (this.#cohorts.length === 0) return;
    for (const cohort of this.#cohorts) cohort.run(now);
    this.#cohorts = [];
  }

  readonly #dispatchFull = (): void => {
    this.#fullIsDue = false;
    this.#dispatch(this.settings.clock.now(), false);
  };

  #recordArrivals(): void {
    const moment = this.#moment;
    if (moment === undefined) return;
    this.#moment = undefined;
    this.arrivals.record(moment.arrivals, moment.at);
    try {
      this.settings.policy.observeArrivals?.(moment.arrivals, moment.at);
    } catch {
      this.ledger.policyErrors += 1;
    }
  }

  /** Starts what can be started now; within a turn only batches that cannot grow any further. */
  #dispatch(at: number, turnEnded: boolean): void {
    if (this.#isDispatching) return;
    this.#isDispatching = true;
    let now = at;
    let anySize = turnEnded || this.#state !== 'open';
    let vainQuestions = 0;
    for (;;) {
      this.#expireDue(now);
      if (!this.#hasFreeSlot) break;
      const group = this.line.next(now);
      if (group === undefined) break;
      if (!anySize && !this.#mayLeaveWithinTurn(group, now)) break;
      this.#endedWhileDispatching = false;
      const decision =
        vainQuestions < MOST_VAIN_QUESTIONS ? this.#decision(group, now) : this.#everything(group);
      if (decision === undefined) {
        vainQuestions += 1;
        continue;
      }
      vainQuestions = 0;
      this.#act(decision, group, now);
      if (this.#endedWhileDispatching) {
        // The handler was synchronous. Others want the thread too.
        now = this.settings.clock.now();
        anySize = this.#state !== 'open';
      }
    }
    this.#isDispatching = false;
    this.#setTimer(now);
    if (this.#state === 'closing' && this.#isIdle) this.#closed();
  }

  /** Nobody whose time is up may still leave, also when the thread was too busy for the timer to fire. */
  #expireDue(now: number): void {
    this.#runCohorts(now);
    if (this.deadlines.earliest <= now) this.deadlines.expire(now);
  }

  #mayLeaveWithinTurn(group: Group, now: number): boolean {
    this.#openTurn(now);
    return group.cost >= this.settings.maxBatchSize && now - this.#turnOpenedAt < TURN_BUDGET_MS;
  }

  /** What to do about a group; undefined when the question has changed while the policy thought about it. */
  #decision(group: Group, now: number): Decision | undefined {
    if (this.#state !== 'open') return this.#everything(group, 'drain');
    const { oldestAt } = group;
    if (oldestAt <= this.#flushedAt) return this.#everything(group, 'manual');
    const { policy, maxWaitMs } = this.settings;
    try {
      this.#isDeciding = true;
      const decision = validDecision(policy.decide(this.#view.show(group), now), now);
      if (!this.#isDeciding) return undefined;
      if (decision.action === 'dispatch' || now < oldestAt + maxWaitMs) return decision;
      return this.#everything(group, 'window');
    } catch {
      // A broken policy must not stop the service: go on without it.
      this.ledger.policyErrors += 1;
      return this.#isDeciding ? this.#everything(group) : undefined;
    } finally {
      this.#isDeciding = false;
      this.#view.hide();
    }
  }

  #everything(group: Group, reason?: Reason): Decision {
    return {
      action: 'dispatch',
      count: POSITIVE_INFINITY,
      reason:
        reason ?? reasonToLeave(group.cost, this.settings.maxBatchSize, this.line.length - group.length),
    };
  }

  /** To be called before anything changes what a policy may be looking at. */
  #interrupt(): void {
    if (!this.#isDeciding) return;
    this.#isDeciding = false;
    this.#view.hide();
  }

  #act(decision: Decision, group: Group, now: number): void {
    const refused: Entry[] = [];
    if (decision.refuse) group.take(decision.refuse, POSITIVE_INFINITY, refused);
    for (const { lane, cost } of refused) if (lane !== undefined) this.line.tenants.refund(lane.tenant, cost);
    for (const entry of refused) entry.lane = undefined;
    if (decision.action === 'dispatch') {
      const batch: Entry[] = [];
      const cost = group.take(decision.count, this.settings.maxBatchSize, batch);
      this.line.left(group, refused.length + batch.length);
      if (batch.length > 0) this.#start(batch, cost, group, decision.reason, now);
    } else {
      this.line.left(group, refused.length);
      const until = Math.min(decision.until, group.oldestAt + this.settings.maxWaitMs);
      if (group.length > 0) this.line.sleep(group, until);
    }
    for (const entry of refused) this.#endAll(entry, 'refused', this.door.overtakenError());
  }

  #start(entries: readonly Entry[], cost: number, group: Group, reason: Reason, now: number): void {
    const batch = new RunningBatch(this, entries, cost, reason, group.key, now);
    batch.index = this.running.length;
    this.running.push(batch);
    this.lastDispatchAt = now;
    this.ledger.dispatched(batch);
    batch.start();
  }

  // ── batches that end ──

  learn(call: CompletedBatch, now: number): void {
    this.curve.record(call.cost, call.durationMs, now);
    try {
      this.settings.policy.observeBatch?.(call, now);
    } catch {
      this.ledger.policyErrors += 1;
    }
  }

  unshare(work: SharedWork): void {
    this.sharedWorks.end(work);
  }

  batchEnded(batch: RunningBatch, now: number): void {
    const last = this.running.pop();
    if (last !== undefined && last !== batch) {
      this.running[batch.index] = last;
      last.index = batch.index;
    }
    if (batchChannel.hasSubscribers) batchChannel.publish(batch.record());
    if (this.#state === 'closed') return;
    this.#recordArrivals();
    this.line.wakeAll();
    if (this.#isDispatching) this.#endedWhileDispatching = true;
    else this.#dispatch(now, false);
  }

  // ── the one timer ──

  #setTimer(now: number): void {
    if (this.#isIdle) {
      this.#rest();
      return;
    }
    const wakeAt = this.#hasFreeSlot ? this.line.wakeAt : POSITIVE_INFINITY;
    const at = Math.min(wakeAt, this.deadlines.earliest);
    // One that fires too early is set again then: cheaper than moving it whenever something is settled.
    if (at >= this.#timerAt) return;
    this.#clearTimer();
    this.#timerAt = at;
    this.#timer = this.settings.clock.setTimer(this.#onTimer, Math.max(0, at - now));
  }

  readonly #onTimer = (): void => {
    this.#timer = undefined;
    this.#timerAt = POSITIVE_INFINITY;
    if (this.#state !== 'closed') this.#dispatch(this.settings.clock.now(), true);
  };

  #clearTimer(): void {
    if (this.#timerAt === POSITIVE_INFINITY) return;
    this.settings.clock.clearTimer(this.#timer);
    this.#timer = undefined;
    this.#timerAt = POSITIVE_INFINITY;
  }

  /** Idle: no timer, and nothing kept. */
  #rest(): void {
    this.deadlines.clear();
    this.#clearTimer();
  }

  // ── the life of a batcher ──

  configure(settings: Settings<I, R>): void {
    this.#interrupt();
    const shrinks = settings.maxBatchSize < this.settings.maxBatchSize;
    this.settings = settings;
    this.doorIsWide = this.isOpen && asksNothing(settings);
    if (shrinks) this.#refuseTooLarge();
    this.#wake();
  }

  flush(): void {
    if (this.line.length === 0) return;
    this.#interrupt();
    this.#recordArrivals();
    this.#flushedAt = this.settings.clock.now();
    this.#wake();
  }

  close(timeoutMs: number): Promise<void> {
    if (this.#state === 'closed') return this.#whenClosed.promise;
    this.#interrupt();
    this.#state = 'closing';
    this.doorIsWide = false;
    this.#wake();
    if (timeoutMs !== POSITIVE_INFINITY && !this.#isIdle) {
      const now = this.settings.clock.now();
      this.deadlines.add(now + timeoutMs, new Patience(() => this.destroy()));
      this.#setTimer(now);
    }
    return this.#whenClosed.promise;
  }

  destroy(): void {
    if (this.#state === 'closed') return;
    this.#interrupt();
    this.#state = 'closed';
    this.doorIsWide = false;
    const error = this.door.closedError();
    for (const entry of this.line.entries()) this.#endAll(entry, 'failed', error);
    for (const batch of [...this.running]) batch.abandon(error);
    this.#closed();
  }

  #closed(): void {
    this.#state = 'closed';
    this.#rest();
    this.#whenClosed.resolve();
  }

  #wake(): void {
    this.line.wakeAll();
    this.#dispatch(this.settings.clock.now(), true);
  }

  #refuseTooLarge(): void {
    for (const entry of this.line.entries()) {
      if (entry.cost <= this.settings.maxBatchSize) continue;
      this.#endAll(entry, 'refused', this.door.tooLargeError(entry.cost));
    }
  }

  get #hasFreeSlot(): boolean {
    return this.running.length < this.settings.concurrency;
  }

  get #isIdle(): boolean {
    return this.ledger.queued === 0 && this.running.length === 0;
  }
}

/** The end of a close with a time limit. */
class Patience implements Expiring {
  settled = false;
  readonly expire: () => void;

  constructor(expire: () => void) {
    this.expire = expire;
  }
}

function asksNothing<I, R>(settings: Settings<I, R>): boolean {
  const { costOf, groupOf, dedupeBy, timeoutMs, targetLatencyMs, maxQueueSize } = settings;
  return (
    costOf === undefined &&
    groupOf === undefined &&
    dedupeBy === undefined &&
    Math.min(timeoutMs, targetLatencyMs, maxQueueSize) === POSITIVE_INFINITY
  );
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
