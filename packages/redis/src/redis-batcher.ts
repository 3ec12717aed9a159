/**
 * The same `submit()` as a batcher in the process; the batches are formed and run by processors elsewhere. The callers'
 * side of it (deadlines, cancellation, accounting, shutdown) is a batcher of the core, whose handler brings items into the
 * queue and answers them one by one as their answers come back.
 */
import { randomUUID } from 'node:crypto';
import {
  type BatchContext,
  Batcher,
  type BatcherStats,
  BatchwiseError,
  type Clock,
  type CloseOptions,
  type EnqueueOptions,
  greedy,
  type Results,
  type Sink,
  type SubmitOptions,
  type Ticket,
} from 'batchwise';
import { Cancellations } from './cancellations.js';
import { type Codec, codecFor } from './codec.js';
import { checkRedis, watchEviction } from './connection/check-redis.js';
import { lossText, openLink, type RedisLink } from './connection/link.js';
import { loadScript } from './connection/script.js';
import { LostItems } from './lost-items.js';
import { Outbox } from './outbox.js';
import { Outgoing, OutgoingGroup } from './outgoing.js';
import { levelOf, type QueueKeys, queueKeys } from './queue-keys.js';
import {
  type ClientSettings,
  clientSettings,
  connectionOf,
  type RedisBatcherOptions,
} from './redis-options.js';
import { ReplyReader } from './reply-reader.js';

const keep = loadScript('keep');

/** How often a client says that it is alive, while it waits for answers, in its time to live. */
const BEATS = 3;

export class RedisBatcher<I, R> {
  readonly clientId: string;
  readonly keys: QueueKeys;
  readonly codec: Codec;
  readonly clock: Clock;
  readonly settings: ClientSettings;
  /** Resolves when Redis is connected and suitable; rejects if Redis refuses the connection or is unsuitable. */
  readonly ready: Promise<void>;

  readonly link: RedisLink;
  readonly #readLink: RedisLink;
  readonly #batcher: Batcher<Outgoing<I>, R>;
  readonly #outbox: Outbox<I>;
  readonly #reader: ReplyReader;
  readonly #cancellations: Cancellations;
  readonly #lostItems: LostItems;
  /** Sent, and not answered yet, by number. */
  readonly #awaited = new Map<number, Outgoing<I>>();
  readonly #connectionListeners = new Set<(isUp: boolean, reason: Error | undefined) => void>();
  #wasUp: boolean | undefined = undefined;
  #eviction: BatchwiseError | undefined = undefined;
  #beat: unknown = undefined;
  #beats = 0;
  /** The number of the item that was sent last, and the same when long outstanding ones were last looked for. */
  #lastNumber = 0;
  #lastNumberThen = 0;
  #whenClosed: Promise<void> | undefined = undefined;

  constructor(options: RedisBatcherOptions<I>) {
    const settings = clientSettings(options);
    this.settings = settings;
    this.clock = settings.clock;
    this.codec = codecFor(settings.payload);
    this.keys = queueKeys(settings.queue);
    this.clientId = `${this.codec.kind}-${randomUUID()}`;
    const { dedupeBy, timeoutMs, name, clock } = settings;
    this.#batcher = new Batcher((items: Outgoing<I>[], context: BatchContext) => this.#send(items, context), {
      name,
      clock,
      timeoutMs,
      maxBatchSize: Number.POSITIVE_INFINITY,
      concurrency: Number.POSITIVE_INFINITY,
      policy: greedy(),
      admission: false, // decided in Redis, where it is known what waits
      ...(dedupeBy === undefined ? {} : { dedupeBy: ({ item }: Outgoing<I>) => dedupeBy(item as never) }),
    });
    const isQuiet = () => this.#connectionListeners.size > 0;
    const connection = { ...connectionOf(options), key: this.keys.processors, clock, isQuiet };
    this.link = openLink({ ...connection, replies: 'text', name: `${name} submits` });
    this.#readLink = openLink({
      ...connection,
      replies: this.codec.isText ? 'text' : 'bytes',
      name: `${name} reads replies`,
    });
    for (const link of [this.link, this.#readLink]) {
      link.onUp(() => {
        this.#tellConnection(undefined);
        this.#reconnected();
      });
      link.onDown((reason) => this.#tellConnection(reason));
    }
    this.#reader = new ReplyReader(this.#readLink, this.keys.replies + this.clientId, this);
    this.#cancellations = new Cancellations(this.link, this.keys, this.clientId, clock);
    this.#lostItems = new LostItems(this);
    this.ready = checkRedis(this.link, this.keys.processors);
    watchEviction(this.link, this.keys.processors, clock, (problem) => this.#evictionChanged(problem));
    this.ready.catch(() => {}); // submissions hear of it
    this.#outbox = new Outbox(this);
  }

  /** Submits one item. Resolves to its result; rejects with its own error or a `BatchwiseError`. */
  submit(item: I, options?: SubmitOptions): Promise<R> {
    const outgoing = this.#outgoing(item, options);
    const result = this.#batcher.submit(outgoing, options);
    return this.#hasDeadline(options) ? result.catch((error) => this.#rethrow(error, [outgoing])) : result;
  }

  /** Submits several items as one request. Resolves to one array in the same order. */
  submitMany(items: readonly I[], options?: SubmitOptions): Promise<R[]> {
    const outgoing = Array.isArray(items) ? items.map((item) => this.#outgoing(item, options)) : items;
    const results = this.#batcher.submitMany(outgoing as readonly Outgoing<I>[], options);
    if (!this.#hasDeadline(options)) return results;
    return results.catch((error) => this.#rethrow(error, outgoing as readonly Outgoing<I>[]));
  }

  /** The callback-level API below `submit()`: no promise, no signal. */
  enqueue(item: I, sink: Sink<R>, options?: EnqueueOptions): Ticket {
    const outgoing = this.#outgoing(item, options);
    const own: Sink<R> = {
      resolve: (result, batch) => sink.resolve(result, batch),
      reject: (error) => sink.reject(this.#explained(error, [outgoing])),
    };
    return this.#batcher.enqueue(outgoing, this.#hasDeadline(options) ? own : sink, options);
  }

  /** Statistics of the items of this client; `running` counts those in Redis. */
  stats(): BatcherStats {
    return this.#batcher.stats();
  }

  /** Whether Redis is connected. */
  get isUp(): boolean {
    return this.link.isUp && this.#readLink.isUp;
  }

  /** The current problem of Redis: unreachable, refusing the connection, or evicting. */
  get problem(): Error | undefined {
    return this.link.failure ?? this.#readLink.failure ?? this.#eviction;
  }

  /**
   * Calls the listener when `isUp` changes, when the first connection fails, and when Redis may evict (up, with that
   * reason). Returns a function that removes the listener. Without a listener, problems go to stderr.
   */
  onConnectionChange(listener: (isUp: boolean, reason: Error | undefined) => void): () => void {
    this.#connectionListeners.add(listener);
    return () => {
      this.#connectionListeners.delete(listener);
    };
  }

  /** Accepts no more items, waits for the results of accepted items, and deletes its keys in Redis. */
  close(options: CloseOptions = {}): Promise<void> {
    this.#whenClosed ??= this.#close(options);
    return this.#whenClosed;
  }

  /** Settles all calls now with `CLOSED`, and removes their queued items from Redis if it is connected. */
  destroy(): void {
    const awaited = [...this.#awaited.values()];
    this.#batcher.destroy();
    this.#outbox.abandon();
    for (const outgoing of awaited) this.#gone(outgoing);
    this.#whenClosed ??= this.#leave();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // For the outbox and the reader

  get isWaiting(): boolean {
    return this.#awaited.size > 0;
  }

  expectAnswer(outgoing: Outgoing<I>): void {
    this.#awaited.set(outgoing.number, outgoing);
    this.#lastNumber = outgoing.number;
  }

  readAnswers(): void {
    this.#reader.wake();
    this.#keepAlive();
  }

  expectNoAnswer(outgoing: Outgoing<I>): void {
    this.#awaited.delete(outgoing.number);
  }

  wasForgotten(): void {
    this.#reader.startOver();
    this.#findLost();
  }

  caughtUp(): Promise<void> {
    return this.#reader.caughtUp();
  }

  lost(items: readonly Outgoing<unknown>[]): void {
    const { name } = this.settings;
    const message =
      `${name}: Redis has lost the item and its result (a failover, a restart, a deleted or evicted key, ` +
      'or this process did not respond for clientTtlMs). The item may have been executed.';
    for (const outgoing of items) {
      this.answered(outgoing.number, new BatchwiseError('UNAVAILABLE', message));
      this.#cancellations.add(outgoing); // it may be in the stream, where no processor takes it
    }
  }

  cancel(outgoing: Outgoing<I>): void {
    this.#awaited.delete(outgoing.number);
    this.#cancellations.add(outgoing);
  }

  answered(number: number, result: unknown): void {
    const outgoing = this.#awaited.get(number);
    if (outgoing === undefined) return; // has given up
    this.#awaited.delete(number);
    outgoing.answer(result);
  }

  died(number: number, deliveries: number, letter: string): void {
    const { name, queue } = this.settings;
    const message =
      `${name}: delivered ${deliveries} times without a result: each time the processor ended or lost its connection. ` +
      `See: batchwise dead list --queue ${queue} (${letter}).`;
    this.answered(number, new BatchwiseError('HANDLER_FAILED', message));
  }

  readNothing(): void {
    this.#checkLongOutstanding();
  }

  readFailed(error: unknown): void {
    const { name } = this.settings;
    const said = error instanceof Error ? error.message : String(error);
    this.#failAwaited(
      new BatchwiseError('UNAVAILABLE', `${name}: the results cannot be read. ${said}`, { cause: error }),
    );
  }

  #tellConnection(reason: Error | undefined): void {
    const { isUp } = this;
    // With one of the two links it is not up yet.
    if (isUp === this.#wasUp || (!isUp && reason === undefined)) return;
    this.#wasUp = isUp;
    for (const listener of [...this.#connectionListeners]) listener(isUp, reason);
  }

  #evictionChanged(problem: BatchwiseError | undefined): void {
    this.#eviction = problem;
    if (problem === undefined) return;
    if (this.#connectionListeners.size === 0) process.stderr.write(`batchwise: ${problem.message}\n`);
    for (const listener of [...this.#connectionListeners]) listener(this.isUp, problem);
  }

  #hasDeadline(options: EnqueueOptions | undefined): boolean {
    return (options?.timeoutMs ?? this.settings.timeoutMs) !== Number.POSITIVE_INFINITY;
  }

  #rethrow(error: unknown, outgoing: readonly Outgoing<I>[]): never {
    throw this.#explained(error as Error, outgoing);
  }

  /** A deadline that has passed because Redis cannot be reached says so; what was never sent may be retried. */
  #explained(error: Error, outgoing: readonly Outgoing<I>[]): Error {
    if (!(error instanceof BatchwiseError) || error.code !== 'DEADLINE_EXCEEDED') return error;
    const { name, dedupeBy } = this.settings;
    const failure = this.link.failure ?? this.#readLink.failure;
    if (failure === undefined) return error;
    const isUnsent = dedupeBy === undefined && outgoing.every(({ number }) => number === 0);
    if (isUnsent && !this.link.isUp) {
      const message = `${name}: ${lossText(failure)}. The call was not sent before its deadline.`;
      return new BatchwiseError('UNAVAILABLE', message, { cause: failure });
    }
    return new BatchwiseError('DEADLINE_EXCEEDED', `${error.message} ${lossText(failure)}.`, {
      cause: failure,
    });
  }

  #outgoing(item: I, options: EnqueueOptions | undefined): Outgoing<I> {
    const timeoutMs = options?.timeoutMs ?? this.settings.timeoutMs;
    // One that may be shared has several callers: the deadline of the first is not the others'. It is cancelled with the last.
    const isForever = timeoutMs === Number.POSITIVE_INFINITY || this.settings.dedupeBy !== undefined;
    const deadline = isForever ? Number.POSITIVE_INFINITY : this.clock.now() + timeoutMs;
    return new Outgoing(item, levelOf(options?.priority ?? 0), deadline);
  }

  #send(items: Outgoing<I>[], context: BatchContext): Promise<Results<never>> {
    return new Promise((resolve) => {
      // After the submissions of callers who ask again at once: they wait for theirs, and nobody for this.
      const end = (results: Results<never>) =>
        this.clock.defer(() => this.clock.defer(() => resolve(results)));
      const group = new OutgoingGroup(items.length, context, end);
      items.forEach((outgoing, index) => {
        outgoing.join(group, index);
      });
      context.onGone((index) => this.#gone(items[index] as Outgoing<I>));
      this.#outbox.add(items);
    });
  }

  /** Nobody waits for it any more. What is not known to be in the queue yet is cancelled when it is. */
  #gone(outgoing: Outgoing<I>): void {
    outgoing.leave();
    if (outgoing.id !== undefined) this.cancel(outgoing);
  }

  #keepAlive(): void {
    if (this.#beat !== undefined) return;
    this.#beat = this.clock.setTimer(() => {
      this.#beat = undefined;
      if (!this.isWaiting) return;
      this.#keepAlive();
      void this.#sayAlive();
    }, this.settings.clientTtlMs / BEATS);
  }

  async #sayAlive(): Promise<void> {
    const { clients, replies } = this.keys;
    const args = [String(this.settings.clientTtlMs), String(++this.#beats)];
    try {
      const wasAlive = await this.link.run(keep, [clients + this.clientId, replies + this.clientId], args);
      if (wasAlive === 0) this.wasForgotten();
      else this.#checkLongOutstanding();
    } catch {
      // The link is closed, or Redis has said what submissions will hear as well.
    }
  }

  /** Items that were accepted may be gone, and with them what would end the wait for their answers. */
  #reconnected(): void {
    this.#lostItems.reconnected();
    if (!this.isUp) return;
    this.#findLost();
    // Where its key has expired, or was never replicated, answers to this client would be dropped.
    if (this.isWaiting) void this.#sayAlive();
  }

  #checkLongOutstanding(): void {
    const upToNumber = this.#lastNumberThen;
    this.#lastNumberThen = this.#lastNumber;
    const suspects: Outgoing<I>[] = [];
    for (const outgoing of this.#awaited.values()) {
      if (outgoing.number > upToNumber) break; // they are in the order of their numbers
      suspects.push(outgoing);
    }
    this.#lostItems.check(suspects).catch(() => {}); // the link is closed, or Redis refuses: looked for again later
  }

  #findLost(): void {
    this.#lostItems.find([...this.#awaited.values()]).catch(() => {});
  }

  #failAwaited(error: BatchwiseError): void {
    for (const outgoing of [...this.#awaited.values()]) this.answered(outgoing.number, error);
  }

  async #close(options: CloseOptions): Promise<void> {
    await this.#batcher.close(options);
    // Whose time to be waited for was up.
    this.#outbox.abandon();
    for (const outgoing of [...this.#awaited.values()]) this.#gone(outgoing);
    await this.#leave();
  }

  async #leave(): Promise<void> {
    this.clock.clearTimer(this.#beat);
    this.#readLink.destroy();
    // While Redis is away nothing can be taken back, and whoever waits for it would wait on.
    this.link.onDown(() => this.link.destroy());
    if (this.link.isUp) {
      await this.#outbox.whenStill(); // then it is known what is in the queue
      await this.#cancellations.flush();
      const own = [this.keys.clients + this.clientId, this.keys.replies + this.clientId];
      await this.link.send(this.keys.processors, ['UNLINK', ...own]).catch(() => {});
      await this.link.close();
    }
    this.link.destroy();
  }
}
