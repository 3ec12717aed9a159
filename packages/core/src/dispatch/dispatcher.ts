/**
 * The core of a batcher: starts batches when slots are free and the policy decides so, and settles every caller.
 *
 * It decides at the end of the event-loop turn, so that items which arrive together are dispatched together. The
 * exception is a full batch: holding it cannot make it larger, so it is dispatched in the next microtask.
 */

import type { ScheduledBackend } from '../backends/backend.js';
import type { BackendUser } from '../backends/backend-set.js';
import type { BackendUse, Placed } from '../backends/backend-use.js';
import type { PlacedWork } from '../backends/choose-backend.js';
import { Placement } from '../backends/placement.js';
import { inOwnContext } from '../batch/async-context.js';
import { batchChannel } from '../batch/diagnostics.js';
import { Ledger } from '../batch/ledger.js';
import { RunningBatch } from '../batch/running-batch.js';
import { type BatchwiseError, throwUncaught } from '../errors/errors.js';
import { closedError, tooCostlyError, unavailableError } from '../errors/rejections.js';
import { LearnedGroups } from '../learning/learned-groups.js';
import { ServiceCurve } from '../learning/service-curve.js';
import { Traffic } from '../learning/traffic.js';
import { needsNoItemChecks, type Settings } from '../options/options.js';
import type { CompletedBatch, Decision, Dispatch } from '../policy/policy.js';
import type { Entry } from '../queue/entry.js';
import type { Group, Taken } from '../queue/group.js';
import { ItemQueue } from '../queue/item-queue.js';
import type { Lane } from '../queue/lane.js';
import { type SharedWork, SharedWorks } from '../queue/shared-work.js';
import type { Tenant } from '../queue/tenants.js';
import { Alarm } from '../time/alarm.js';
import { Deadlines } from '../time/deadlines.js';
import { Decider } from './decider.js';
import { Intake } from './intake.js';
import { Removal } from './removal.js';
import { TURN_BUDGET_MS, Turn } from './turn.js';

const { NEGATIVE_INFINITY, POSITIVE_INFINITY } = Number;
const resolved = Promise.resolve();

export class Dispatcher implements BackendUser {
  settings: Settings;
  readonly ledger = new Ledger();
  readonly queue: ItemQueue;
  readonly groups: LearnedGroups;
  readonly running: RunningBatch[] = [];
  /** Running batches that a backend with `readsAhead` has got before it has a free slot for them. */
  prefetchedBatches = 0;
  readonly sharedWorks = new SharedWorks();
  readonly curve: ServiceCurve;
  readonly traffic = new Traffic();
  /** Deadlines of callers. */
  readonly deadlines = new Deadlines();
  /** Time limits of handler calls and of `close()`, which policies do not see. */
  readonly timeouts = new Deadlines();
  readonly turn: Turn;
  readonly intake = new Intake(this);
  readonly removal = new Removal(this);
  readonly placement: Placement;
  state: 'open' | 'closing' | 'closed' = 'open';
  lastDispatchAt = NEGATIVE_INFINITY;
  freeSince = NEGATIVE_INFINITY;
  /** Open, and no setting depends on the single item: submit can skip the checks. */
  admitsUnchecked = false;

  readonly #decider = new Decider(this);
  readonly #alarm: Alarm;
  #resolveClosed = (): void => {};
  readonly #whenClosed = new Promise<void>((resolve) => {
    this.#resolveClosed = resolve;
  });
  /** Arrivals by group since they were last recorded. */
  readonly #arrivedIn = new Map<unknown, number>();
  #isDispatching = false;
  #endedWhileDispatching = false;
  #fullIsDue = false;

  constructor(settings: Settings) {
    const { clock, priorityAgeMs } = settings;
    this.settings = settings;
    this.curve = new ServiceCurve(settings.curve, settings.batchSizes);
    this.groups = new LearnedGroups(this.curve);
    this.placement = new Placement(this, settings.backends);
    this.queue = new ItemQueue(this.removal, priorityAgeMs);
    this.#updateAdmission();
    this.turn = new Turn(clock, this.deadlines, () => this.#turnEnded());
    this.#alarm = new Alarm(clock, () => this.#dispatch(clock.now(), true));
  }

  get isOpen(): boolean {
    return this.state === 'open';
  }

  /** The slots of all ready backends; at least 1, because an ejected backend comes back. */
  get slots(): number {
    return Math.max(1, this.placement.slots);
  }

  get busySlots(): number {
    return this.running.length - this.prefetchedBatches;
  }

  get freeSlots(): number {
    return this.placement.freeSlots;
  }

  get inSlots(): readonly PlacedWork[] {
    return this.placement.inSlots;
  }

  /** Why items are rejected because no backend is ready; undefined if they wait for one. */
  get outage(): BatchwiseError | undefined {
    const { set } = this.placement;
    const outage = set?.failsWhenNoneReady ? set.outage : undefined;
    return outage && unavailableError(this.settings.name, outage);
  }

  // Items

  /** Counts an arrival. Rejected items count, because they are part of the load; callers that share an item do not. */
  offered(groupKey: unknown): void {
    this.turn.arrived(1);
    if (this.settings.groupOf === undefined) return;
    this.#arrivedIn.set(groupKey, (this.#arrivedIn.get(groupKey) ?? 0) + 1);
  }

  append(entry: Entry, groupKey: unknown, tenant: Tenant, priority: number): void {
    const group = this.queue.append(entry, groupKey, tenant, priority);
    this.ledger.queued += 1;
    if (!this.#fullIsDue && this.#isFull(group)) this.#dispatchFullSoon();
  }

  /** Adds a caller to a computation that is in flight. */
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

  /** Dispatches batches without holding them, full ones first, so that no item is rejected while slots are free. */
  makeRoom(hasRoom: () => boolean): void {
    this.#dispatch(this.settings.clock.now(), false);
    if (!hasRoom() && this.placement.hasFreeSlot) this.flush();
  }

  // Dispatch

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

  /** Starts all batches that can start now; before the end of the turn only full ones. */
  #dispatch(at: number, turnIsOver: boolean): void {
    if (this.#isDispatching || this.state === 'closed') return;
    this.#isDispatching = true;
    let now = at;
    let anySize = turnIsOver;
    try {
      for (;;) {
        this.#runDue(now);
        if (!this.#mayHaveSlot) {
          this.#prefetch(now);
          break;
        }
        const group = this.#decider.nextGroup(now);
        if (group === undefined) break;
        if (!anySize) {
          this.turn.open(now); // the end of the turn dispatches the others
          if (!this.#isFull(group) || this.turn.isSpent(now)) break;
        }
        if (!this.placement.requestSlot()) break;
        if (this.#isHeldForBackend(group, now)) continue;
        const decision = this.#decider.decide(group, now);
        this.placement.tookTurn();
        if (decision === undefined) continue;
        this.#endedWhileDispatching = false;
        const goesOn = this.#carryOut(decision, group, now);
        // A handler may block the thread before its first await.
        now = this.settings.clock.now();
        if (!goesOn) {
          this.turn.open(now);
          break;
        }
        // Sockets and timers need the thread, too.
        if (this.#endedWhileDispatching || now - at >= TURN_BUDGET_MS) anySize = false;
      }
    } finally {
      this.#isDispatching = false;
    }
    const { policy } = this.settings;
    if (turnIsOver && policy.prepare !== undefined) this.#notifyPolicy(() => policy.prepare?.(now));
    this.restIfIdle();
    this.#setAlarm(now);
  }

  /** No expired item is dispatched, and no group is held too long, even if a busy thread has delayed the timer. */
  #runDue(now: number): void {
    this.turn.runCohorts(now);
    if (this.deadlines.earliest <= now) this.deadlines.expire(now);
    if (this.timeouts.earliest <= now) this.timeouts.expire(now);
    this.removal.sweep(now);
    this.queue.wakeDue(now);
  }

  /** A full batch whose size the policy agrees to is sent to a backend that reads ahead. */
  #prefetch(now: number): void {
    const use = this.placement.prefetchingBackend(now);
    const group = use && this.#decider.nextGroup(now);
    if (use === undefined || group === undefined || !this.#isFull(group)) return;
    const decision = this.#decider.decide(group, now);
    if (decision?.action !== 'dispatch' || !use.backend.canPrefetch) return;
    const { entries, cost } = this.queue.take(group, decision.count, this.settings.maxBatchSize);
    if (entries.length > 0) this.#start(entries, cost, group, decision, now, use);
  }

  #isFull(group: Group): boolean {
    return group.cost >= this.settings.maxBatchSize;
  }

  /** Returns false if dispatching should continue at the end of the turn. */
  #carryOut(decision: Decision, group: Group, now: number): boolean {
    switch (decision.action) {
      case 'reject': {
        const order = group.order();
        const entries = decision.positions.flatMap((position) => order.at(position) ?? []);
        this.removal.rejectItems(entries, group, now);
        // Rejected callers may submit again at once.
        return false;
      }
      case 'wait':
        this.#hold(group, decision.until, decision.wakeOnBatchEnd ?? true);
        return true;
      case 'dispatch': {
        if (!this.placement.hasFreeSlot) return false; // the policy has removed the last backend
        const { entries, cost } = this.#take(group, decision);
        if (group.length === 0 && this.queue.length > 0) this.#chargeForSlot(entries, cost);
        if (entries.length > 0) this.#start(entries, cost, group, decision, now);
        return entries.length > 0;
      }
    }
  }

  #hold(group: Group, until: number, wakeOnBatchEnd: boolean): void {
    this.queue.hold(group, Math.min(until, group.oldestAt + this.settings.maxWaitMs), wakeOnBatchEnd);
  }

  /**
   * When a group is emptied by a partial batch while other groups are queued, its slot serves fewer items than it could.
   * The tenants of the batch are charged for the difference. Otherwise a tenant that gives each item a group of its own
   * would get one batch for each item that another tenant gets within a batch.
   */
  #chargeForSlot(entries: readonly Entry[], cost: number): void {
    const { curve, settings } = this;
    const missed = (curve.mean(cost) ?? 0) * (curve.capacityPerMs(settings.maxBatchSize) ?? 0) - cost;
    if (!(missed > 0) || missed === POSITIVE_INFINITY) return;
    const { tenants } = this.queue;
    for (const { lane, cost: own } of entries)
      if (lane) tenants.surcharge(lane.tenant, (missed * own) / cost);
  }

  /** Holds the group if its batch is predicted to complete sooner on a backend that is busy now. */
  #isHeldForBackend(group: Group, now: number): boolean {
    if (this.placement.set === undefined) return false;
    const { cost, length } = this.queue;
    const holdUntil = this.placement.choose(cost, (this.traffic.ratePerMs(now) * cost) / length, group, now);
    if (holdUntil === undefined || !this.isOpen || group.isFlushed) return false;
    if (Math.min(holdUntil, group.oldestAt + this.settings.maxWaitMs) <= now) return false;
    this.#hold(group, holdUntil, true);
    this.placement.tookTurn();
    return true;
  }

  /** Limits the batch to the share of the chosen backend, unless the policy has chosen a backend itself. */
  #take(group: Group, { count, backend }: Dispatch): Taken {
    const { maxBatchSize } = this.settings;
    const { maxCost } = this.placement;
    const isLimited = backend === undefined && maxCost < maxBatchSize && this.isOpen && !group.isFlushed;
    const taken = this.queue.take(group, count, isLimited ? maxCost : maxBatchSize);
    return isLimited && taken.entries.length === 0 ? this.queue.take(group, 1, maxBatchSize) : taken;
  }

  #start(
    entries: readonly Entry[],
    cost: number,
    group: Group,
    decision: Dispatch,
    now: number,
    prefetching?: BackendUse,
  ): void {
    const use = prefetching ?? this.#backendFor(decision, cost, now);
    const startsAt = prefetching?.startOfNext(now) ?? now;
    const batch = new RunningBatch(this, entries, cost, decision.reason, group.key, startsAt, use);
    if (prefetching !== undefined) {
      batch.isPrefetched = true;
      this.prefetchedBatches += 1;
    }
    if (use !== undefined) batch.placed = this.placement.start(use, batch, now);
    batch.index = this.running.length;
    this.running.push(batch);
    this.lastDispatchAt = now;
    this.ledger.dispatched(batch);
    inOwnContext(startBatch, batch);
  }

  #backendFor({ backend }: Dispatch, cost: number, now: number): BackendUse | undefined {
    const use = this.placement.backendFor(backend, cost, now);
    if (backend !== undefined && use !== undefined && use.id !== backend) {
      this.ledger.policyFailed(new TypeError(`backend ${JSON.stringify(backend)} has no free slot`));
    }
    return use;
  }

  /** All callers of the batch are settled, and its slot is free. */
  batchEnded(batch: RunningBatch, now: number): void {
    if (!this.placement.hasFreeSlot) this.freeSince = now;
    const last = this.running.pop();
    if (last !== undefined && last !== batch) {
      this.running[batch.index] = last;
      last.index = batch.index;
    }
    const { placed } = batch;
    if (placed !== undefined) this.placement.ended(placed, batch, batch.outcome(now), batch.error, now);
    if (batch.isPrefetched) this.prefetchedBatches -= 1;
    else if (this.prefetchedBatches > 0) this.#beginNext(batch, now);
    if (batchChannel.hasSubscribers) batchChannel.publish(batch.record());
    if (this.state === 'closed') return;
    this.#recordArrivals();
    this.queue.batchEnded();
    if (this.#isDispatching) this.#endedWhileDispatching = true;
    else this.#dispatch(now, false);
  }

  /** The backend of a batch that ended starts the prefetched batch. */
  #beginNext({ backend }: RunningBatch, now: number): void {
    const next = this.running.find((batch) => batch.isPrefetched && batch.backend === backend);
    if (next === undefined) return;
    this.prefetchedBatches -= 1;
    next.begin(now);
  }

  /** Puts items that were not started back into the queue; returns the items that have to fail. */
  returnToQueue(entries: readonly Entry[], batch: RunningBatch): readonly Entry[] {
    if (this.state === 'closed') return entries;
    const { rest, returned } = this.placement.retriesOf(batch.placed as Placed, entries);
    for (const entry of returned.reverse()) {
      const lane = this.queue.putBack(entry, batch.laneOf(entry) as Lane);
      entry.batch = undefined; // also when its own caller has cancelled, and it carries the item for others
      for (const caller of entry.callers) {
        caller.batch = undefined;
        caller.lane = lane;
        batch.callers -= 1;
        this.ledger.returned();
      }
    }
    return rest;
  }

  // Backends

  get slotOrder(): number {
    try {
      return this.settings.slotOrder?.() ?? 0;
    } catch (error) {
      throwUncaught(error);
      return 0;
    }
  }

  /** Groups that are held stay held: otherwise two batchers that hold groups would wake each other for ever. */
  slotFreed(): void {
    this.#dispatch(this.settings.clock.now(), true);
  }

  backendsChanged(): void {
    this.placement.update();
    this.#updateAdmission();
    if (this.queue.length > 0) this.#wake();
  }

  abandonBatches(backend: ScheduledBackend, error: BatchwiseError): void {
    for (const batch of [...this.running]) if (batch.backend === backend.id) batch.abandon(error);
  }

  /** After a change of settings or backends: rejects all queued items if no backend can run them. */
  #updateAdmission(): void {
    let { outage } = this;
    this.admitsUnchecked = this.isOpen && outage === undefined && needsNoItemChecks(this.settings);
    if (outage === undefined) return;
    for (const entry of this.queue.entries()) {
      // A caller that is rejected may make a backend ready, and the others are dispatched.
      ({ outage } = this);
      if (outage === undefined) return;
      if (entry.lane !== undefined) this.removal.removeAll(entry, 'refused', outage);
    }
  }

  // Learning

  /** A call of the handler succeeded: its duration is learned. */
  learn(call: CompletedBatch, group: unknown, placed: Placed | undefined, now: number): void {
    this.#recordArrivals(); // events are recorded in the order of time
    if (placed !== undefined) this.placement.learn(placed, call.cost, call.durationMs, now);
    if (this.settings.groupOf !== undefined) this.groups.batchEnded(group, call, now);
    this.curve.record(call.cost, call.durationMs, now);
    this.traffic.batchEnded(call, now);
    const { policy } = this.settings;
    if (policy.observeBatch !== undefined) this.#notifyPolicy(() => policy.observeBatch?.(call, now));
  }

  #recordArrivals(): void {
    const moment = this.turn.endMoment();
    if (moment === undefined) return;
    this.traffic.arrived(moment.arrivals, moment.at);
    for (const [group, count] of this.#arrivedIn) this.groups.arrived(group, count, moment.at);
    this.#arrivedIn.clear();
    const { policy } = this.settings;
    if (policy.observeArrivals === undefined) return;
    this.#notifyPolicy(() => policy.observeArrivals?.(moment.arrivals, moment.at));
  }

  #notifyPolicy(notify: () => void): void {
    try {
      notify();
    } catch (error) {
      this.ledger.policyFailed(error);
    }
  }

  // Life cycle

  configure(settings: Settings): void {
    const shrinks = settings.maxBatchSize < this.settings.maxBatchSize;
    this.curve.padTo(settings.batchSizes);
    this.groups.padTo(settings.batchSizes);
    this.placement.padTo(settings.batchSizes);
    this.settings = settings;
    this.#updateAdmission();
    if (shrinks) this.#rejectTooCostly();
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
    if (this.state === 'closed') return this.#whenClosed;
    this.state = 'closing';
    this.admitsUnchecked = false;
    this.#wake();
    if (timeoutMs !== POSITIVE_INFINITY && !this.#isIdle) {
      const now = this.settings.clock.now();
      this.timeouts.add({ deadline: now + timeoutMs, heapIndex: -1, expire: () => this.destroy() });
      this.#setAlarm(now);
    }
    return this.#whenClosed;
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

  /** Nothing is dispatched meanwhile, because the queue may contain items that fit in no batch. */
  #rejectTooCostly(): void {
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
    const sweepAt = this.removal.nextSweepAt();
    this.#alarm.ringBy(Math.min(wakeAt, sweepAt, this.deadlines.earliest, this.timeouts.earliest), now);
  }

  /** An idle batcher has no timer, and is closed if it was closing. */
  restIfIdle(): void {
    if (!this.#isIdle) return;
    this.#alarm.clear();
    if (this.state === 'open') return;
    this.state = 'closed';
    this.placement.close();
    this.#resolveClosed();
  }

  /** A batcher that shares its backends requests a slot even if none is free, to keep its place in the slot queue. */
  get #mayHaveSlot(): boolean {
    const { placement, running, settings } = this;
    return placement.isShared ? running.length < settings.concurrency : placement.hasFreeSlot;
  }

  get #isIdle(): boolean {
    return this.ledger.queued === 0 && this.running.length === 0;
  }
}

function startBatch(batch: RunningBatch): void {
  batch.start();
}
