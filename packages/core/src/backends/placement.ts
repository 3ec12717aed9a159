/** Where the batches of one batcher run. A batcher with a handler has no backend set, and skips all of this. */
import type { Dispatcher } from '../dispatch/dispatcher.js';
import { SURE_WEIGHT } from '../learning/bucket.js';
import { CERTAIN_DEVIATIONS, DIFFERENT_CURVES_LOG_RATIO, ServiceCurve } from '../learning/service-curve.js';
import type { BackendView, RunningWork } from '../policy/policy.js';
import type { Entry } from '../queue/entry.js';
import type { Group } from '../queue/group.js';
import type { ScheduledBackend } from './backend.js';
import type { BackendSet, BatchOutcome } from './backend-set.js';
import { BackendUse, type Placed } from './backend-use.js';
import { type Choice, chooseBackend, type PlacedWork } from './choose-backend.js';

/** The one backend of a batcher with a handler. */
const HANDLER_ID = 'handler';

export class Placement {
  /** Undefined for a batcher with a handler. */
  readonly set: BackendSet | undefined;
  /** The backend that would get the next batch, and the largest cost that it should take. */
  chosen: BackendUse | undefined = undefined;
  maxCost = Number.POSITIVE_INFINITY;

  readonly #dispatcher: Dispatcher;
  readonly #uses = new Map<ScheduledBackend, BackendUse>();
  #usable: readonly BackendUse[] = [];
  #areAlike = true;
  /** How often an item was in a batch that a backend did not start. */
  readonly #attempts = new WeakMap<Entry, number>();
  #turn = 0;

  constructor(dispatcher: Dispatcher, set: BackendSet | undefined) {
    this.#dispatcher = dispatcher;
    this.set = set;
    if (set === undefined) return;
    set.attach(dispatcher);
    this.update();
  }

  get slots(): number {
    const { concurrency } = this.#dispatcher.settings;
    return this.set === undefined ? concurrency : Math.min(concurrency, this.set.slots);
  }

  get freeSlots(): number {
    const { busySlots, settings } = this.#dispatcher;
    const free = Math.max(0, settings.concurrency - busySlots);
    return this.set === undefined ? free : Math.min(free, this.set.freeSlots);
  }

  get hasFreeSlot(): boolean {
    const { busySlots, settings } = this.#dispatcher;
    return busySlots < settings.concurrency && (this.set === undefined || this.set.hasFreeSlot);
  }

  /** The batches that must end before a slot is free: where backends are shared, those of other batchers, too. */
  get inSlots(): readonly PlacedWork[] {
    const { busySlots, settings, running } = this.#dispatcher;
    const isShared = this.set?.isShared && settings.concurrency - busySlots > this.set.freeSlots;
    return isShared ? this.#usable.flatMap(({ work }) => work) : running;
  }

  /** The backends as the policy sees them. */
  get views(): readonly BackendView[] {
    if (this.set !== undefined) return this.#usable;
    const { slots, freeSlots } = this;
    const { running, curve } = this.#dispatcher;
    return [{ id: HANDLER_ID, slots, freeSlots, running, curve }];
  }

  /** The only backend whose slots and batches the policy sees; undefined while all backends are alike. */
  get viewed(): BackendUse | undefined {
    return this.#areAlike ? undefined : this.chosen;
  }

  /** The share of the chosen backend in the throughput of all backends. */
  shareOfChosen(maxBatchSize: number): number {
    const { viewed } = this;
    if (viewed === undefined) return 1;
    let all = 0;
    for (const use of this.#usable) all += throughputOf(use, maxBatchSize);
    return all > 0 ? throughputOf(viewed, maxBatchSize) / all : 1;
  }

  get isShared(): boolean {
    return this.set?.isShared ?? false;
  }

  /** Returns true if it is the turn of this batcher among those that share the backends. Otherwise it waits for a slot. */
  requestSlot(): boolean {
    return this.set === undefined || this.set.requestSlot(this.#dispatcher);
  }

  tookTurn(): void {
    this.set?.tookTurn(this.#dispatcher);
  }

  /** The backend that takes a prefetched batch: of several, the one that is free first. */
  prefetchingBackend(now: number): BackendUse | undefined {
    let first: BackendUse | undefined;
    if (this.isShared) return undefined;
    for (const use of this.#usable) {
      if (use.backend.canPrefetch && !(first && first.startOfNext(now) <= use.startOfNext(now))) first = use;
    }
    this.chosen = first;
    return first;
  }

  /** Chooses the backend for the next batch; returns until when to hold the batch for a better one. */
  choose(queuedCost: number, costPerMs: number, group: Group, now: number): number | undefined {
    if (this.set === undefined) return undefined;
    const choice = this.#choice(queuedCost, costPerMs, now, group);
    this.chosen = choice?.backend;
    this.maxCost = choice?.maxCost ?? Number.POSITIVE_INFINITY;
    return choice?.holdUntil;
  }

  /** The backend for a batch that is about to start; `id` is that named by the policy, if it has a free slot. */
  backendFor(id: string | undefined, cost: number, now: number): BackendUse | undefined {
    if (this.set === undefined) return undefined;
    const named =
      id === undefined ? undefined : this.#usable.find((use) => use.id === id && use.freeSlots > 0);
    const backend = named ?? this.#choice(cost, 0, now)?.backend;
    this.#turn += 1;
    return backend;
  }

  start(use: BackendUse, work: RunningWork, now: number): Placed {
    const placed = use.place(work, now);
    placed.started = (this.set as BackendSet).started(use.backend, placed, now);
    return placed;
  }

  ended(placed: Placed, work: RunningWork, outcome: BatchOutcome, error: unknown, now: number): void {
    placed.use.ended(work);
    this.set?.ended(placed.use.backend, placed, placed.started, outcome, error, now);
  }

  learn({ use }: Placed, cost: number, durationMs: number, now: number): void {
    use.learn(cost, durationMs, this.#dispatcher.curve.mean(cost), now);
    if (this.#areAlike) this.#compare();
  }

  /** Which items of a batch that was not started may be retried. A trial is limited by its back-off already. */
  retriesOf({ use, started }: Placed, entries: readonly Entry[]): { returned: Entry[]; rest: Entry[] } {
    const { retries, budget } = this.set as BackendSet;
    const returned: Entry[] = [];
    const rest: Entry[] = [];
    for (const entry of entries) {
      const attempts = this.#attempts.get(entry) ?? 0;
      (started.isTrial || attempts < retries ? returned : rest).push(entry);
      if (!started.isTrial) this.#attempts.set(entry, attempts + 1);
    }
    if (returned.length === 0 || (!started.isTrial && !budget.spend()))
      return { returned: [], rest: [...entries] };
    use.backend.returned += 1;
    return { returned, rest };
  }

  padTo(batchSizes: readonly number[]): void {
    for (const use of this.#uses.values()) use.padTo(batchSizes);
  }

  close(): void {
    this.set?.detach(this.#dispatcher);
  }

  /** To be called when backends have been added or removed, or have changed their state. */
  update(): void {
    if (this.set === undefined) return;
    this.#usable = this.set.usable.map((backend) => this.#uses.get(backend) ?? this.#use(backend));
    for (const [backend] of this.#uses) if (backend.isGone) this.#uses.delete(backend);
  }

  #choice(queuedCost: number, costPerMs: number, now: number, group?: Group): Choice<BackendUse> | undefined {
    const isDoubtful = group !== undefined && this.#usable.some(({ doubtfulUntil }) => doubtfulUntil > now);
    const first = isDoubtful ? group.order().at(0) : undefined;
    const isRetry = first !== undefined && this.#attempts.has(first);
    const { maxBatchSize } = this.#dispatcher.settings;
    return chooseBackend(this.#usable, { queuedCost, costPerMs, maxBatchSize, isRetry }, this.#turn, now);
  }

  #use(backend: ScheduledBackend): BackendUse {
    const { curve, settings } = this.#dispatcher;
    const own = new ServiceCurve([], settings.batchSizes);
    const use = new BackendUse(backend, own, this.#areAlike ? curve : undefined);
    this.#uses.set(backend, use);
    return use;
  }

  /** Equal backends share one curve and so learn as quickly as one backend. Backends that differ get their own curves. */
  #compare(): void {
    let least: BackendUse | undefined;
    let most: BackendUse | undefined;
    for (const use of this.#uses.values()) {
      if (use.compared <= SURE_WEIGHT) continue;
      if (least === undefined || use.logRatio < least.logRatio) least = use;
      if (most === undefined || use.logRatio > most.logRatio) most = use;
    }
    if (least === undefined || most === undefined || least === most) return;
    const spread = Math.max(least.variation, most.variation);
    const error = spread * Math.sqrt(1 / least.compared + 1 / most.compared);
    if (most.logRatio - least.logRatio <= Math.max(DIFFERENT_CURVES_LOG_RATIO, CERTAIN_DEVIATIONS * error))
      return;
    this.#areAlike = false;
    for (const use of this.#uses.values()) use.separate();
  }
}

function throughputOf({ curve, slots }: BackendUse, maxBatchSize: number): number {
  return slots * (curve.capacityPerMs(maxBatchSize) ?? 0);
}
