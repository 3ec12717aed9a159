/** Where the batches of one batcher run. A batcher with a handler has no backend set, and skips all of this. */
import type { RunningBatch } from '../batch/running-batch.js';
import type { Dispatcher } from '../dispatch/dispatcher.js';
import { type BatchwiseError, throwUncaught } from '../errors/errors.js';
import { unavailableError } from '../errors/rejections.js';
import type { RunningWork } from '../policy/policy.js';
import type { Entry } from '../queue/entry.js';
import type { Group } from '../queue/group.js';
import type { Lane } from '../queue/lane.js';
import type { SetMember } from './backend.js';
import type { BackendSet, SetUser } from './backend-set.js';
import { chooseBackend } from './choose-backend.js';
import { LearnedBackend } from './learned-backend.js';

export class Placement implements SetUser {
  /** Undefined for a batcher with a handler. */
  readonly set: BackendSet | undefined;
  /** The backends that get batches now. */
  usable: readonly LearnedBackend[] = [];
  /** The backend of the next batch, and the largest cost that the batch should have. */
  chosen: LearnedBackend | undefined = undefined;
  maxCost = Number.POSITIVE_INFINITY;

  readonly #dispatcher: Dispatcher;
  readonly #learned = new Map<SetMember, LearnedBackend>();
  #areAlike = true;
  /** Grows with each batch. */
  #rotation = 0;

  constructor(dispatcher: Dispatcher, set: BackendSet | undefined) {
    this.#dispatcher = dispatcher;
    this.set = set;
    if (set === undefined) return;
    set.attach(this);
    this.#update();
  }

  /** The slots of all ready backends; at least 1, because an ejected backend comes back. */
  get slots(): number {
    const { concurrency } = this.#dispatcher.settings;
    return this.set === undefined ? concurrency : Math.max(1, Math.min(concurrency, this.set.slots));
  }

  get freeSlots(): number {
    const free = Math.max(0, this.#unusedConcurrency);
    return this.set === undefined ? free : Math.min(free, this.set.freeSlots);
  }

  get hasFreeSlot(): boolean {
    return this.#unusedConcurrency > 0 && (this.set === undefined || this.set.hasFreeSlot);
  }

  /** A batcher that shares its backends requests a slot even if none is free, to keep its place in the slot queue. */
  get mayHaveSlot(): boolean {
    const { running, settings } = this.#dispatcher;
    return this.isShared ? running.all.length < settings.concurrency : this.hasFreeSlot;
  }

  get #unusedConcurrency(): number {
    const { running, settings } = this.#dispatcher;
    return settings.concurrency - running.busySlots;
  }

  /** The batches that must end before a slot is free: where backends are shared, those of other batchers, too. */
  get inSlots(): readonly RunningWork[] {
    const isShared = this.set?.isShared && this.#unusedConcurrency > this.set.freeSlots;
    return isShared ? this.usable.flatMap(({ member }) => member.running) : this.#dispatcher.running.all;
  }

  /** The only backend whose slots and batches the policy sees; undefined while all backends are alike. */
  get viewed(): LearnedBackend | undefined {
    return this.#areAlike ? undefined : this.chosen;
  }

  /** The share of the viewed backend in the throughput of all backends. */
  shareOfViewed(maxBatchSize: number): number {
    const { viewed } = this;
    if (viewed === undefined) return 1;
    let all = 0;
    for (const backend of this.usable) all += throughputOf(backend, maxBatchSize);
    return all > 0 ? throughputOf(viewed, maxBatchSize) / all : 1;
  }

  get isShared(): boolean {
    return this.set?.isShared ?? false;
  }

  /** Returns true if this batcher is next among those that share the backends. Otherwise it waits for a slot. */
  requestSlot(): boolean {
    return this.set === undefined || this.set.requestSlot(this);
  }

  /** The batcher has used the slot, or needs none now. */
  endRequest(): void {
    this.set?.endRequest(this);
  }

  /** Chooses the backend of a prefetched batch: of several, the one that is free first. */
  choosePrefetching(now: number): LearnedBackend | undefined {
    let first: LearnedBackend | undefined;
    if (this.isShared) return undefined;
    for (const backend of this.usable) {
      if (backend.member.canPrefetch && !(first && first.startOfNext(now) <= backend.startOfNext(now)))
        first = backend;
    }
    this.chosen = first;
    return first;
  }

  /** Chooses the backend for the next batch; returns until when to hold the batch for a better one. */
  choose(group: Group, now: number): number | undefined {
    const { set, usable } = this;
    if (set === undefined) return undefined;
    const { queue, settings, traffic } = this.#dispatcher;
    const { cost: queuedCost, length } = queue;
    const isDoubtful = usable.some(({ member }) => member.health.doubtfulUntil >= now);
    const first = isDoubtful ? group.order().at(0) : undefined;
    const demand = {
      queuedCost,
      costPerMs: (traffic.ratePerMs(now) * queuedCost) / length,
      maxBatchSize: settings.maxBatchSize,
      isRetry: first !== undefined && set.retries.isRetry(first),
    };
    const choice = chooseBackend(usable, demand, this.#rotation, now);
    this.chosen = choice?.backend;
    this.maxCost = choice?.maxCost ?? Number.POSITIVE_INFINITY;
    return choice?.holdUntil;
  }

  /** The backend of a batch that is about to start: the one that the policy names, if it has a free slot, or the chosen one. */
  backendFor(named: string | undefined): LearnedBackend | undefined {
    if (this.set === undefined) return undefined;
    this.#rotation += 1;
    const free = this.usable.filter(({ freeSlots }) => freeSlots > 0);
    const found = named === undefined ? undefined : free.find(({ id }) => id === named);
    if (named !== undefined && found === undefined)
      this.#dispatcher.ledger.policyFailed(
        new TypeError(`backend ${JSON.stringify(named)} has no free slot`),
      );
    // The policy may have changed the state of the chosen one.
    return found ?? free.find((backend) => backend === this.chosen) ?? free[0];
  }

  started(batch: RunningBatch, now: number): void {
    const { runsOn } = batch;
    if (runsOn === undefined) return;
    runsOn.expect(batch, now);
    this.set?.started(batch, runsOn.member, now);
  }

  ended(batch: RunningBatch, now: number): void {
    if (batch.runsOn !== undefined) this.set?.ended(batch, batch.runsOn.member, batch.outcome(now), now);
  }

  /** Puts items of a batch that was not started back into the queue; returns the items that have to fail. */
  returnToQueue(entries: readonly Entry[], batch: RunningBatch): readonly Entry[] {
    const { state, queue, ledger } = this.#dispatcher;
    const returned = (state !== 'closed' && this.set?.retries.of(entries, batch.isTrial)) || [];
    if (batch.runsOn === undefined || returned.length === 0) return entries;
    batch.runsOn.member.returned += 1;
    for (const entry of returned.toReversed()) {
      const lane = queue.putBack(entry, entry.lane as Lane);
      entry.batch = undefined; // also when its own caller has cancelled, and it carries the item for others
      for (const caller of entry.callers) {
        caller.batch = undefined;
        caller.lane = lane;
        batch.callers -= 1;
        ledger.returned();
      }
    }
    return entries.filter((entry) => entry.batch === batch);
  }

  learn(backend: LearnedBackend, cost: number, durationMs: number, now: number): void {
    backend.record(cost, durationMs, now);
    if (!this.#areAlike || !backend.isSeparate) return;
    // The shared curve is a mean of curves that differ: it is wrong for all of them.
    this.#areAlike = false;
    for (const each of this.#learned.values()) each.separate();
  }

  padTo(batchSizes: readonly number[]): void {
    for (const { own } of this.#learned.values()) own?.padTo(batchSizes);
  }

  close(): void {
    this.set?.detach(this);
  }

  /** Why items are rejected because no backend is ready; undefined if they wait for one. */
  get outage(): BatchwiseError | undefined {
    const outage = this.set?.failsWhenNoneReady ? this.set.outage : undefined;
    return outage && unavailableError(this.#dispatcher.settings.name, outage);
  }

  // For the set

  get slotOrder(): number {
    try {
      return this.#dispatcher.settings.slotOrder?.() ?? 0;
    } catch (error) {
      throwUncaught(error);
      return 0;
    }
  }

  /** Groups that are held stay held: otherwise two batchers that hold groups would wake each other without end. */
  slotFreed(): void {
    this.#dispatcher.dispatchNow();
  }

  backendsChanged(): void {
    this.#update();
    this.#dispatcher.backendsChanged();
  }

  abandonBatches(member: SetMember, error: BatchwiseError): void {
    for (const batch of [...this.#dispatcher.running.all])
      if (batch.runsOn?.member === member) batch.abandon(error);
  }

  #update(): void {
    const { usable = [] } = this.set ?? {};
    this.usable = usable.map((member) => this.#learned.get(member) ?? this.#add(member));
    for (const [member] of this.#learned) if (member.isRemoved) this.#learned.delete(member);
  }

  #add(member: SetMember): LearnedBackend {
    const backend = new LearnedBackend(member, this.#dispatcher);
    if (!this.#areAlike) backend.separate();
    this.#learned.set(member, backend);
    return backend;
  }
}

function throughputOf({ curve, slots }: LearnedBackend, maxBatchSize: number): number {
  return slots * (curve.capacityPerMs(maxBatchSize) ?? 0);
}
