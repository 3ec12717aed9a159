/**
 * The machine inside a batcher: starts batches when slots are free and the policy says so, and sees to
 * it that everybody who came in is settled.
 *
 * When it decides: at the end of the event-loop turn, when all that came together is there. The
 * exception: when the batch that is next in line is full, waiting could not make it fuller, and it
 * leaves with the next microtask.
 */

import type { ScheduledBackend } from '../backends/backend-set.js';
import type { BackendUse, Placed } from '../backends/backend-use.js';
import { Placement } from '../backends/placement.js';
import { inOwnContext } from '../batch/async-context.js';
import { batchChannel } from '../batch/diagnostics.js';
import { Ledger } from '../batch/ledger.js';
import { type BatchOwner, RunningBatch } from '../batch/running-batch.js';
import type { BatchwiseError } from '../errors/errors.js';
import { closedError, tooCostlyError, unavailableError } from '../errors/rejections.js';
import { LearnedGroups } from '../learning/learned-groups.js';
import { ServiceCurve } from '../learning/service-curve.js';
import { Traffic } from '../learning/traffic.js';
import { asksNothingOfItems, type Settings } from '../options/options.js';
import type { CompletedBatch, Decision, Dispatch } from '../policy/policy.js';
import type { Entry } from '../queue/entry.js';
import type { Group } from '../queue/group.js';
import { ItemQueue } from '../queue/item-queue.js';
import type { Lane } from '../queue/lane.js';
import { type SharedWork, SharedWorks } from '../queue/shared-work.js';
import type { Tenant } from '../queue/tenants.js';
import { Alarm } from '../time/alarm.js';
import { Deadlines } from '../time/deadlines.js';
import { Decider } from './decider.js';
import { Intake } from './intake.js';
import { Overdue } from './overdue.js';
import { Removal } from './removal.js';
import { TURN_BUDGET_MS, Turn } from './turn.js';

const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number;
const resolved = Promise.resolve();

export class Dispatcher<I, R> implements BatchOwner {
  settings: Settings<I, R>;
  readonly ledger = new Ledger();
  readonly queue: ItemQueue;
  readonly groups: LearnedGroups;
  readonly running: RunningBatch[] = [];
  readonly sharedWorks = new SharedWorks();
  readonly curve: ServiceCurve;
  readonly traffic = new Traffic();
  /** Of callers. */
  readonly deadlines = new Deadlines();
  /** Of calls of the handler, and of a patient close: no policy hurries for those. */
  readonly timeouts = new Deadlines();
  readonly turn: Turn;
  readonly intake: Intake<I, R> = new Intake(this);
  readonly removal: Removal<I, R> = new Removal(this);
  readonly placement: Placement;
  readonly decider = new Decider(this);
  state: 'open' | 'closing' | 'closed' = 'open';
  lastDispatchAt = NEGATIVE_INFINITY;
  freeSince = NEGATIVE_INFINITY;
  /** Items come in unasked: open, and no setting looks at the single item. */
  admitsUnchecked: boolean;

  readonly #overdue = new Overdue(this);
  readonly #alarm: Alarm;
  readonly #whenClosed = deferred();
  /** Groups with items that arrived since the arrivals were last recorded. */
  #arrivedIn: Group[] = [];
  #isDispatching = false;
  #endedWhileDispatching = false;
  #fullIsDue = false;

  constructor(settings: Settings<I, R>) {
    const { clock, priorityAgeMs } = settings;
    this.settings = settings;
    this.admitsUnchecked = asksNothingOfItems(settings);
    this.curve = new ServiceCurve(settings.curve, settings.batchSizes);
    this.groups = new LearnedGroups(this.curve);
    this.placement = new Placement(this, settings.backends);
    this.queue = new ItemQueue(this.removal, priorityAgeMs);
    this.#lookForOutage();
    this.turn = new Turn(clock, this.deadlines, () => this.#turnEnded());
    this.#alarm = new Alarm(clock, () => this.#dispatch(clock.now(), true));
  }

  get isOpen(): boolean {
    return this.state === 'open';
  }

  /** Of all ready backends; at least 1, because a backend that is ejected will be back. */
  get slots(): number {
    return Math.max(1, this.placement.slots);
  }

  get freeSlots(): number {
    return this.placement.freeSlots;
  }

  /** Why items are rejected because no backend is ready; undefined where they wait for one. */
  get outage(): BatchwiseError | undefined {
    const { set } = this.placement;
    const outage = set?.failsWhenNoneReady ? set.outage : undefined;
    return outage && unavailableError(this.settings.name, outage);
  }

  // Coming in

  append(entry: Entry, groupKey: unknown, tenant: Tenant, priority: number): void {
    const group = this.queue.append(entry, groupKey, tenant, priority);
    this.ledger.queued += 1;
    if (this.settings.groupOf !== undefined && group.arrived++ === 0) this.#arrivedIn.push(group);
    if (!this.#fullIsDue && this.#isFull(group)) this.#dispatchFullSoon();
  }

  /** Adds a caller to work that another has asked for. */
  join(entry: Entry, work: SharedWork): void {
    work.join(entry);
    const { lane, batch } = work.carrier;
    entry.lane = lane;
    if (batch === undefined) this.ledger.queued += 1;
    else {
      batch.join(entry);
      this.ledger.running += 1;
    }
  }

  /** Lets batches leave early, the full ones first, rather than refuse newcomers while slots are free. */
  makeRoom(hasRoom: () => boolean): void {
    this.#dispatch(this.settings.clock.now(), false);
    if (!hasRoom() && this.placement.hasFreeSlot) this.flush();
  }

  // Leaving in a batch

  #dispatchFullSoon(): void {
    if (!this.placement.hasFreeSlot) return;
    this.#fullIsDue = true;
    resolved.then(this.#dispatchFull);
  }

  readonly #dispatchFull = (): void => {
    this.#fullIsDue = false;
    this.#dispatch(this.settings.clock.now(), false);
  };

  #turnEnded(): void {
    this.#recordArrivals();
    this.#dispatch(this.settings.clock.now(), true);
  }

  /** Starts what can be started now; within a turn only batches that cannot grow any further. */
  #dispatch(at: number, turnIsOver: boolean): void {
    if (this.#isDispatching || this.state === 'closed') return;
    this.#isDispatching = true;
    let now = at;
    let anySize = turnIsOver;
    try {
      for (;;) {
        this.#expireDue(now);
        if (!this.#mayHaveSlot) break;
        const group = this.queue.next(now);
        if (group === undefined) break;
        if (!anySize) {
          this.turn.open(now); // at its end the rest follows
          if (!this.#isFull(group) || this.turn.isSpent(now)) break;
        }
        if (!this.placement.mayStart) break;
        if (this.#isHeldForBackend(group, now)) continue;
        const decision = this.decider.decide(group, now);
        this.placement.tookTurn();
        if (decision === undefined) continue;
        this.#endedWhileDispatching = false;
        const goesOn = this.#carryOut(decision, group, now);
        // Handlers take their time even before they first wait.
        now = this.settings.clock.now();
        if (!goesOn) {
          this.turn.open(now);
          break;
        }
        // Others want the thread too.
        if (this.#endedWhileDispatching || now - at >= TURN_BUDGET_MS) anySize = false;
      }
    } finally {
      this.#isDispatching = false;
    }
    const { policy } = this.settings;
    if (turnIsOver && policy.prepare !== undefined) this.#tellPolicy(() => policy.prepare?.(now));
    this.restIfIdle();
    this.#setAlarm(now);
  }

  /** Nobody whose time is up may still leave, not even when the thread was too busy for the alarm to ring. */
  #expireDue(now: number): void {
    this.turn.runCohorts(now);
    if (this.deadlines.earliest <= now) this.deadlines.expire(now);
    if (this.timeouts.earliest <= now) this.timeouts.expire(now);
    this.#overdue.reject(now);
  }

  #isFull(group: Group): boolean {
    return group.cost >= this.settings.maxBatchSize;
  }

  /** Returns false when it is better to go on at the end of the turn. */
  #carryOut(decision: Decision, group: Group, now: number): boolean {
    switch (decision.action) {
      case 'reject':
        this.removal.rejectItems(entriesAt(group, decision.positions), group, now);
        // Rejected callers may submit again at once.
        return false;
      case 'wait': {
        const until = Math.min(decision.until, group.oldestAt + this.settings.maxWaitMs);
        this.queue.hold(group, until, decision.wakeOnBatchEnd ?? true);
        return true;
      }
      case 'dispatch': {
        if (!this.placement.hasFreeSlot) return false; // the policy has removed the last backend
        const { entries: batch, cost } = this.#take(group, decision);
        if (group.length === 0 && this.queue.length > 0) this.#chargeForSlot(batch, cost);
        if (batch.length > 0) this.#start(batch, cost, group, decision, now);
        return batch.length > 0;
      }
    }
  }

  /**
   * A group that ends before its batch is full, while other groups wait, uses a slot for fewer items than the slot could
   * have served. Its tenants are charged for those as well: else a tenant that gives each item a group of its own would
   * get a batch for each item that another tenant gets within a batch.
   */
  #chargeForSlot(batch: readonly Entry[], cost: number): void {
    const best = this.curve.bestSize(this.settings.maxBatchSize);
    const durationMs = this.curve.mean(cost);
    if (best === undefined || durationMs === undefined || !(cost < best.cost)) return;
    const missed = (best.cost * durationMs) / best.durationMs - cost;
    if (!(missed > 0) || missed === POSITIVE_INFINITY) return;
    const { tenants } = this.queue;
    for (const { lane, cost: own } of batch) if (lane) tenants.surcharge(lane.tenant, (missed * own) / cost);
  }

  /** Whether a batch is expected to be done sooner on a faster backend that is busy now; then the group sleeps. */
  #isHeldForBackend(group: Group, now: number): boolean {
    if (this.placement.set === undefined) return false;
    const { cost, length } = this.queue;
    const holdUntil = this.placement.choose(cost, (this.traffic.ratePerMs(now) * cost) / length, group, now);
    if (holdUntil === undefined || !this.isOpen || group.isFlushed) return false;
    const until = Math.min(holdUntil, group.oldestAt + this.settings.maxWaitMs);
    if (until <= now) return false;
    this.queue.hold(group, until, true);
    this.placement.tookTurn();
    return true;
  }

  /** No more than is best left to faster backends, unless the policy has chosen one itself. */
  #take(
    group: Group,
    { count, backend }: Dispatch,
  ): { readonly entries: readonly Entry[]; readonly cost: number } {
    const { maxBatchSize } = this.settings;
    const { maxCost } = this.placement;
    const isLimited = backend === undefined && maxCost < maxBatchSize && this.isOpen && !group.isFlushed;
    const taken = this.queue.take(group, count, isLimited ? maxCost : maxBatchSize);
    return isLimited && taken.entries.length === 0 ? this.queue.take(group, 1, maxBatchSize) : taken;
  }

  #start(entries: readonly Entry[], cost: number, group: Group, decision: Dispatch, now: number): void {
    const use = this.#backendFor(decision, cost, now);
    const batch = new RunningBatch(this, entries, cost, decision.reason, group.key, now, use);
    if (use !== undefined) batch.placed = this.placement.start(use, batch, now);
    batch.index = this.running.length;
    this.running.push(batch);
    this.lastDispatchAt = now;
    this.ledger.dispatched(batch);
    inOwnContext(start, batch);
  }

  #backendFor({ backend }: Dispatch, cost: number, now: number): BackendUse | undefined {
    const use = this.placement.backendFor(backend, cost, now);
    if (backend !== undefined && use !== undefined && use.id !== backend) {
      this.ledger.policyFailed(new TypeError(`backend ${JSON.stringify(backend)} has no free slot`));
    }
    return use;
  }

  batchEnded(batch: RunningBatch, now: number): void {
    if (!this.placement.hasFreeSlot) this.freeSince = now;
    const last = this.running.pop();
    if (last !== undefined && last !== batch) {
      this.running[batch.index] = last;
      last.index = batch.index;
    }
    const { placed } = batch;
    if (placed !== undefined) this.placement.ended(placed, batch, batch.outcome(now), batch.error, now);
    if (batchChannel.hasSubscribers) batchChannel.publish(batch.record());
    if (this.state === 'closed') return;
    this.#recordArrivals();
    this.queue.batchEnded();
    if (this.#isDispatching) this.#endedWhileDispatching = true;
    else this.#dispatch(now, false);
  }

  returnToQueue(entries: readonly Entry[], batch: RunningBatch): readonly Entry[] {
    if (this.state === 'closed') return entries;
    const { rest, returned } = this.placement.retriesOf(batch.placed as Placed, entries);
    for (let i = returned.length - 1; i >= 0; i--) this.#putBack(returned[i] as Entry, batch);
    return rest;
  }

  #putBack(entry: Entry, batch: RunningBatch): void {
    const lane = this.queue.putBack(entry, batch.laneOf(entry) as Lane);
    const callers = entry.shared?.callers ?? [entry];
    for (const caller of callers) {
      caller.batch = undefined;
      caller.lane = lane;
      batch.callers -= 1;
      this.ledger.returned(1);
    }
  }

  // Backends

  /** Another batcher has left a slot of the shared backends free. */
  slotFreed(): void {
    // Groups that are held stay so: two batchers with some of those would else wake each other for ever.
    this.#dispatch(this.settings.clock.now(), true);
  }

  backendsChanged(): void {
    this.#lookForOutage();
    if (this.queue.length > 0) this.#wake();
  }

  abandonBatches(backend: ScheduledBackend, error: BatchwiseError): void {
    for (const batch of [...this.running]) if (batch.backend === backend.id) batch.abandon(error);
  }

  #lookForOutage(): void {
    const { outage } = this;
    this.admitsUnchecked = this.isOpen && outage === undefined && asksNothingOfItems(this.settings);
    if (outage === undefined) return;
    for (const entry of this.queue.entries()) this.removal.removeAll(entry, 'refused', outage);
  }

  // Learning

  learn(call: CompletedBatch, group: unknown, placed: Placed | undefined, now: number): void {
    this.#recordArrivals(); // in the order in which things happened
    if (placed !== undefined) this.placement.learn(placed, call.cost, call.durationMs, now);
    if (this.settings.groupOf !== undefined) this.groups.batchEnded(group, call, now);
    this.curve.record(call.cost, call.durationMs, now);
    this.traffic.batchEnded(call, now);
    const { policy } = this.settings;
    if (policy.observeBatch !== undefined) this.#tellPolicy(() => policy.observeBatch?.(call, now));
  }

  #recordArrivals(): void {
    const moment = this.turn.endMoment();
    if (moment === undefined) return;
    this.traffic.arrived(moment.arrivals, moment.at);
    for (const group of this.#arrivedIn) {
      this.groups.arrived(group.key, group.arrived, moment.at);
      group.arrived = 0;
    }
    this.#arrivedIn = [];
    const { policy } = this.settings;
    if (policy.observeArrivals === undefined) return;
    this.#tellPolicy(() => policy.observeArrivals?.(moment.arrivals, moment.at));
  }

  #tellPolicy(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.ledger.policyFailed(error);
    }
  }

  // The life of a batcher

  configure(settings: Settings<I, R>): void {
    const shrinks = settings.maxBatchSize < this.settings.maxBatchSize;
    this.curve.padTo(settings.batchSizes);
    this.groups.padTo(settings.batchSizes);
    this.placement.padTo(settings.batchSizes);
    this.settings = settings;
    this.#lookForOutage();
    if (shrinks) this.#refuseTooCostly();
    this.#wake();
  }

  flush(): void {
    if (this.queue.length === 0) return;
    this.#recordArrivals();
    const now = this.settings.clock.now();
    this.queue.flush(now);
    this.#dispatch(now, true);
  }

  close(timeoutMs: number): Promise<void> {
    if (this.state === 'closed') return this.#whenClosed.promise;
    this.state = 'closing';
    this.admitsUnchecked = false;
    this.#wake();
    if (timeoutMs !== POSITIVE_INFINITY && !this.#isIdle) {
      const now = this.settings.clock.now();
      this.timeouts.add({ deadline: now + timeoutMs, heapIndex: -1, expire: () => this.destroy() });
      this.#setAlarm(now);
    }
    return this.#whenClosed.promise;
  }

  destroy(): void {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.admitsUnchecked = false;
    const error = closedError(this.settings.name);
    for (const entry of this.queue.entries()) this.removal.removeAll(entry, 'failed', error);
    for (const batch of [...this.running]) batch.abandon(error);
    this.restIfIdle();
  }

  #wake(): void {
    this.queue.wakeAll();
    this.#dispatch(this.settings.clock.now(), true);
  }

  /** Nothing may be dispatched meanwhile: what is still in line need not fit in any batch. */
  #refuseTooCostly(): void {
    const wasDispatching = this.#isDispatching;
    this.#isDispatching = true;
    const { name, maxBatchSize } = this.settings;
    for (const entry of this.queue.entries()) {
      if (entry.cost <= maxBatchSize) continue;
      this.removal.removeAll(entry, 'refused', tooCostlyError(name, entry.cost, maxBatchSize));
    }
    this.#isDispatching = wasDispatching;
  }

  #setAlarm(now: number): void {
    if (this.state === 'closed') return;
    const wakeAt = this.#mayHaveSlot ? this.queue.wakeAt : POSITIVE_INFINITY;
    const sweepAt = this.#overdue.sweepAt(now);
    this.#alarm.ringBy(Math.min(wakeAt, sweepAt, this.deadlines.earliest, this.timeouts.earliest), now);
  }

  /** When nothing waits and nothing runs: no timer is set, and a batcher that was closing is closed. */
  restIfIdle(): void {
    if (!this.#isIdle) return;
    this.#alarm.clear();
    if (this.state === 'open') return;
    this.state = 'closed';
    this.placement.close();
    this.#whenClosed.resolve();
  }

  /** Where several batchers share the backends, each asks for a slot even when none is free, to stand in line for one. */
  get #mayHaveSlot(): boolean {
    const { placement, running, settings } = this;
    return placement.isShared ? running.length < settings.concurrency : placement.hasFreeSlot;
  }

  get #isIdle(): boolean {
    return this.ledger.queued === 0 && this.running.length === 0;
  }
}

function entriesAt(group: Group, positions: readonly number[]): Entry[] {
  const order = group.order();
  return positions.flatMap((position) => order.at(position) ?? []);
}

function start(batch: RunningBatch): void {
  batch.start();
}

function deferred(): { promise: Promise<void>; resolve: () => void } {
  let resolve = (): void => {};
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
