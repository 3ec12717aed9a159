/**
 * The inside of a processor: has what was fetched batched by a batcher of the core, with the policy that knows the backlog,
 * and its answers written. It is what those who fetch, renew and answer have in common.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  adaptive,
  type BatchContext,
  Batcher,
  type Clock,
  type CloseOptions,
  type Handler,
  type HandlerObject,
} from 'batchwise';
import { AnswerBox } from './answer-box.js';
import { BacklogPolicy } from './backlog-policy.js';
import { CancelReader } from './cancel-reader.js';
import { type Codec, codecFor } from './codec.js';
import { checkRedis, watchEviction } from './connection/check-redis.js';
import { LinkClosedError, openLink, type RedisLink } from './connection/link.js';
import { makeGroup, makeGroupInTheEnd } from './consumer-group.js';
import { decodedItem } from './decoded-item.js';
import type { Delivery } from './delivery.js';
import { deliveryHandler } from './delivery-handler.js';
import { Fetcher } from './fetcher.js';
import { giveBack } from './give-back.js';
import { HeldItems } from './held-items.js';
import { Leases } from './leases.js';
import type { ProcessorNotice, ProcessorStats } from './processor-report.js';
import { type Level, type QueueKeys, queueKeys } from './queue-keys.js';
import {
  connectionOf,
  type ProcessorSettings,
  processorSettings,
  type RedisProcessorOptions,
} from './redis-options.js';
import { RedisTime } from './redis-time.js';
import { Workload } from './workload.js';

const NEVER = { cameAt: Number.NEGATIVE_INFINITY, arrivedAt: Number.NEGATIVE_INFINITY };

export class Processing<I, R> {
  readonly consumer = `${process.pid}-${randomUUID()}`;
  readonly keys: QueueKeys;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly settings: ProcessorSettings<I>;
  readonly held = new HeldItems<I>();
  readonly time = new RedisTime();
  readonly maxBatchSize: number;
  readonly ready: Promise<void>;

  readonly link: RedisLink;
  readonly readLink: RedisLink;
  readonly #batcher: Batcher<Delivery<I>, R>;
  readonly #policy: BacklogPolicy;
  readonly #cancelLink: RedisLink;
  readonly #cancelReader: CancelReader;
  readonly #answers: AnswerBox<I>;
  readonly #fetcher: Fetcher<I>;
  readonly #leases: Leases<I>;
  readonly #concurrency: number;
  readonly #listeners: ((notice: ProcessorNotice) => void)[] = [];
  #takenOver = 0;
  #fenced = 0;
  readonly #queued: Record<Level, number> = { 1: 0, 2: 0, 3: 0 };
  /** The arrival times of the latest item of each level, on the clock of Redis and on this one. */
  readonly #latest: Record<Level, { cameAt: number; arrivedAt: number }> = { 1: NEVER, 2: NEVER, 3: NEVER };
  readonly #call = { waitedMs: 0, priority: 0, timeoutMs: 0 };
  /** What `groupOf` said of the items that were fetched last. */
  readonly #groupsFetched = new Set<unknown>();
  readonly #workload = new Workload();
  #isPaused = false;
  /** What was given back so far has reached Redis. */
  #whenReturned: Promise<unknown> = Promise.resolve();
  #isClosing = false;
  #isGivingBack = false;
  #whenGivenBack: Promise<void> | undefined = undefined;
  #whenClosed: Promise<void> | undefined = undefined;

  constructor(handler: Handler<I, R> | HandlerObject<I, R>, options: RedisProcessorOptions<I>) {
    const settings = processorSettings(options);
    const { name, clock, batching } = settings;
    this.settings = settings;
    this.clock = clock;
    this.codec = codecFor(settings.payload);
    this.keys = queueKeys(settings.queue);
    this.#fetcher = new Fetcher(this);
    const { costOf, groupOf, maxBatchSize = 64, concurrency = 1 } = batching;
    this.maxBatchSize = maxBatchSize === -1 ? Number.POSITIVE_INFINITY : maxBatchSize;
    this.#concurrency = concurrency;
    const { policy = adaptive(), maxWaitMs } = batching;
    this.#policy = new BacklogPolicy(policy, this.#fetcher, groupOf !== undefined, maxWaitMs);
    const run = deliveryHandler(handler, {
      groupOf,
      onStart: (deliveries, context) => this.#started(deliveries, context),
      // Its slot is free then; no item tells so when all of them had ended before. What is fetched next goes out after the
      // answers, which somebody waits for.
      onResults: () => this.#fetcher.wake(),
    });
    this.#batcher = new Batcher(run, {
      ...batching,
      name,
      clock,
      policy: this.#policy,
      maxWaitMs: Number.POSITIVE_INFINITY,
      admission: false, // that was decided when they were submitted
      costOf: costOf && (({ item }: Delivery<I>) => costOf(item as I)),
      groupOf: (delivery: Delivery<I>) => {
        if (groupOf === undefined || delivery.suspicion !== undefined) return delivery.suspicion;
        const group = groupOf(delivery.item as I);
        this.#groupsFetched.add(group);
        return group;
      },
    });
    const isQuiet = () => this.#listeners.length > 0;
    const connection = { ...connectionOf(options), key: this.keys.processors, clock, isQuiet };
    const replies = this.codec.isText ? 'text' : 'bytes';
    this.link = openLink({ ...connection, replies, name: `${name} processes` });
    this.readLink = openLink({ ...connection, replies, name: `${name} reads requests` });
    this.#cancelLink = openLink({ ...connection, replies: 'text', name: `${name} reads cancellations` });
    this.#cancelReader = new CancelReader(this.#cancelLink, this.keys.gone + this.consumer, this);
    this.#answers = new AnswerBox(this);
    this.#leases = new Leases(this);
    this.link.onDown((error) => this.notify({ event: 'disconnected', error }));
    this.link.onUp(() => this.notify({ event: 'connected' }));
    this.ready = this.#start();
    this.ready.catch(() => {});
  }

  stats(): ProcessorStats {
    return {
      ...this.#batcher.stats(),
      consumer: this.consumer,
      backlog: this.#fetcher.waiting,
      takenOver: this.#takenOver,
      fenced: this.#fenced,
      held: this.held.size,
      isPaused: this.#isPaused,
    };
  }

  onNotice(listener: (notice: ProcessorNotice) => void): void {
    this.#listeners.push(listener);
  }

  async pause(): Promise<void> {
    if (!this.#isPaused && !this.#isGivingBack) {
      this.#isPaused = true;
      this.#return(this.held.all().filter(({ isQueued }) => isQueued));
      this.#leases.beatNow();
    }
    await Promise.all([this.#fetcher.still(), this.#leases.still()]);
    await this.#whenReturned;
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#fetcher.wake();
    this.#leases.beatNow(); // what it gave back itself may still be there
  }

  close(options: CloseOptions = {}): Promise<void> {
    this.#whenClosed ??= this.#close(options);
    return this.#whenClosed;
  }

  destroy(): void {
    const given = this.#giveBack();
    this.#whenClosed ??= given;
  }

  // For those who fetch, renew and answer

  get isPaused(): boolean {
    return this.#isPaused;
  }

  get freeSlots(): number {
    return this.#isPaused ? 0 : this.#batcher.freeSlots;
  }

  get maxBatchItems(): number {
    return this.#workload.itemsWithin(this.maxBatchSize);
  }

  get groups(): number {
    return Math.max(1, this.#groupsFetched.size);
  }

  queued(level: Level): number {
    return this.#queued[level];
  }

  get heldIds(): readonly string[] {
    return this.held.ids();
  }

  get ratePerSecond(): number {
    if (this.#isPaused) return 0;
    const { curve, batches } = this.#batcher.stats();
    const items = Math.min(this.maxBatchItems, this.#fetcher.wantedSize);
    return this.#workload.ratePerSecond(curve, items, Math.min(this.#concurrency, batches));
  }

  get portrait(): Readonly<Record<string, unknown>> {
    const { running, queued, batches, batchedItems } = this.#batcher.stats();
    const { maxBatchSize, settings } = this;
    return {
      pid: process.pid,
      host: hostname(),
      running,
      queued,
      batches,
      items: batchedItems,
      maxBatchSize,
      isPaused: this.#isPaused,
      leaseMs: settings.leaseMs,
    };
  }

  received(items: readonly Delivery<I>[]): void {
    if (this.#isPaused) {
      this.#return(items);
      return;
    }
    this.#groupsFetched.clear();
    const now = this.clock.now();
    const times = items.map(({ cameAt }) => now - this.time.sinceMs(cameAt, now));
    this.#policy.arrived(times.sort((a, b) => a - b));
    // One that was delivered before, and was lost on the way here the second time, is still under suspicion.
    for (const item of items) this.#run(item, item.count > 1 ? Symbol('suspect') : undefined, now);
    this.#cancelReader.wake();
  }

  async tookOver(taken: readonly Delivery<I>[]): Promise<void> {
    const items = this.held.unknownOf(taken);
    if (items.length === 0) return;
    this.#fetcher.tookOver(items);
    if (this.#isPaused) return this.#return(items);
    if (this.#isClosing) {
      // Runs nothing more; held, so that it is given back.
      for (const item of items) this.held.add(item);
      return;
    }
    this.#takenOver += items.length;
    this.notify({ event: 'taken-over', items: items.length, delivery: items[0]?.count ?? 0 });
    const now = this.clock.now();
    // Together; but where there are groups, nobody knows who may share a batch.
    const together = this.settings.batching.groupOf === undefined ? Symbol('suspects') : undefined;
    await new Promise<void>((resolve) => {
      let left = items.length;
      const settled = () => {
        left -= 1;
        if (left === 0) resolve();
      };
      for (const item of items) {
        item.onSettled = settled;
        this.#run(item, together ?? Symbol('suspect'), now);
      }
      this.#cancelReader.wake();
    });
  }

  adopt(): Promise<Delivery<I>[]> {
    return this.#fetcher.unseen();
  }

  get isHolding(): boolean {
    return this.held.size > 0;
  }

  cancelled(keys: readonly string[]): void {
    for (const { ticket } of this.held.withKeys(keys)) ticket?.cancel('the caller cancelled');
  }

  foundNothing(): void {
    this.#batcher.configure({}); // has the policy asked again
  }

  unknownOf(items: readonly Delivery<I>[]): Delivery<I>[] {
    return this.held.unknownOf(items);
  }

  cancelFailed(error: unknown): void {
    this.notify({ event: 'failed', error });
  }

  lost(keys: readonly string[]): void {
    for (const delivery of this.held.withKeys(keys)) {
      // What was answered just before the sign of life is no longer held either.
      if (!delivery.isSettled) this.#drop(delivery);
    }
  }

  fenced(delivery: Delivery<I>): void {
    this.#fenced += 1;
    this.held.remove(delivery);
    this.notify({ event: 'fenced', id: delivery.id });
  }

  beaten(): void {
    this.#fetcher.wake();
  }

  died(items: number): void {
    this.notify({ event: 'died', items });
  }

  notTaken(error: unknown): void {
    this.notify({ event: 'failed', error });
  }

  leaseFailed(error: unknown): void {
    this.notify({ event: 'failed', error });
  }

  fetchFailed(error: unknown): void {
    this.notify({ event: 'failed', error });
  }

  notify(notice: ProcessorNotice): void {
    for (const listener of this.#listeners) listener(notice);
  }

  makeGroup(): Promise<void> {
    return makeGroup(this.link, this.keys);
  }

  async #start(): Promise<void> {
    const { link, keys, clock } = this;
    await checkRedis(link, keys.processors);
    watchEviction(link, keys.processors, clock, (error) => {
      if (error === undefined) return;
      if (this.#listeners.length === 0) process.stderr.write(`batchwise: ${error.message}\n`);
      this.notify({ event: 'evicting', error });
    });
    await makeGroupInTheEnd(this.link, this.keys, this.clock, (error) =>
      this.notify({ event: 'failed', error }),
    );
    if (this.#isClosing) return;
    await this.#leases.start();
    this.#fetcher.open();
  }

  #started(deliveries: readonly Delivery<I>[], { size, cost }: BatchContext): void {
    this.#workload.ran(size, cost);
    const call = { unsettled: deliveries.length };
    for (const delivery of deliveries) {
      this.#leftQueue(delivery);
      delivery.call = call;
    }
    this.#fetcher.wake(); // there may be another slot, or none any more
  }

  /** Has it batched and answered. */
  #run(delivery: Delivery<I>, suspicion: unknown, now: number): void {
    delivery.owner = this;
    delivery.suspicion = suspicion;
    this.held.add(delivery);
    try {
      delivery.item = decodedItem(delivery, this.codec, this.settings.name);
    } catch (error) {
      delivery.reject(error as Error);
      return;
    }
    const waitedMs = this.#waitedMs(delivery, now);
    const timeoutMs = delivery.timeoutMs === 0 ? Number.POSITIVE_INFINITY : delivery.timeoutMs - waitedMs;
    delivery.isQueued = true;
    this.#queued[delivery.level] += 1;
    // Read before anything else happens, so one object does for all.
    this.#call.waitedMs = waitedMs;
    this.#call.priority = 2 - delivery.level;
    this.#call.timeoutMs = Math.max(0, timeoutMs);
    delivery.ticket = this.#batcher.enqueue(delivery, delivery, this.#call);
  }

  /** The batcher orders items by their arrival: corrections of the clock must not change the order of the stream. */
  #waitedMs({ cameAt, level }: Delivery<I>, now: number): number {
    const waitedMs = this.time.sinceMs(cameAt, now);
    const latest = this.#latest[level];
    if (cameAt < latest.cameAt) return waitedMs; // it was taken over, and is older
    const arrivedAt = Math.max(now - waitedMs, latest.arrivedAt);
    this.#latest[level] = { cameAt, arrivedAt };
    return now - arrivedAt;
  }

  ended(delivery: Delivery<I>, result: unknown, error: Error | undefined): void {
    this.#leftQueue(delivery);
    delivery.isSettled = true;
    if (!this.#isGivingBack && delivery.isHeld) this.#answers.add(delivery, result, error);
    // Its callers wait for nothing else; what there is to learn from a batch, and what to fetch next, comes after.
    if (delivery.call !== undefined && --delivery.call.unsettled === 0) this.#answers.flush();
    this.#fetcher.wake();
    delivery.onSettled?.();
  }

  #leftQueue(delivery: Delivery<I>): void {
    if (!delivery.isQueued) return;
    delivery.isQueued = false;
    this.#queued[delivery.level] -= 1;
  }

  /** As if they had never come: others take them, and no answer of this processor's counts any more. */
  #return(deliveries: readonly Delivery<I>[]): void {
    if (deliveries.length === 0) return;
    for (const delivery of deliveries) {
      this.held.remove(delivery);
      delivery.ticket?.cancel('given back to the queue');
    }
    const returned = giveBack(this, deliveries, { isLeaving: false }).catch((error: unknown) => {
      // Their leases run out by themselves.
      if (!(error instanceof LinkClosedError)) this.notify({ event: 'failed', error });
    });
    this.#whenReturned = Promise.all([this.#whenReturned, returned]);
  }

  /** Somebody else has it by now: its answer would not be taken. */
  #drop(delivery: Delivery<I>): void {
    this.#fenced += 1;
    this.held.remove(delivery);
    delivery.ticket?.cancel('taken over');
    this.notify({ event: 'fenced', id: delivery.id });
  }

  async #close(options: CloseOptions): Promise<void> {
    this.#isClosing = true;
    // There is nothing to finish, and nobody to give it back to.
    if (!this.isHolding && !this.link.isUp) return this.#giveBack();
    const { timeoutMs = Number.POSITIVE_INFINITY } = options;
    const timer = this.clock.setTimer(() => void this.#giveBack(), timeoutMs);
    if (timeoutMs === Number.POSITIVE_INFINITY) this.clock.clearTimer(timer);
    await Promise.all([this.#fetcher.close(), this.#leases.stopTakingOver()]);
    await this.#batcher.close();
    await this.#answers.empty();
    this.clock.clearTimer(timer);
    await this.#giveBack();
  }

  #giveBack(): Promise<void> {
    this.#whenGivenBack ??= this.#giveBackNow();
    return this.#whenGivenBack;
  }

  async #giveBackNow(): Promise<void> {
    this.#isGivingBack = true;
    this.#isClosing = true;
    this.#leases.stop();
    this.#batcher.destroy();
    // While Redis is away nothing can be given back, and whoever waits for it would wait on.
    const leave = () => {
      this.readLink.destroy();
      this.#cancelLink.destroy();
      this.link.destroy();
    };
    this.link.onDown(leave);
    if (!this.link.isUp) leave();
    await Promise.all([this.#fetcher.close(), this.#leases.stopTakingOver()]);
    this.readLink.destroy();
    this.#cancelLink.destroy();
    if (this.link.isUp) {
      await giveBack(this, this.held.all(), { isLeaving: true }).catch(() => {});
      await this.link.close();
    }
    this.link.destroy();
  }
}
