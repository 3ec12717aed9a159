/**
 * A runner that does not run here: its requests go to a queue in Redis, and processors elsewhere
 * (`batchwise worker`) run the batches. It is ready while Redis can be reached. Without a live processor it says so
 * in `problem`; requests are accepted, and wait for one.
 */
import type { RedisBatcher, RedisQueue } from '@batchwise/redis';
import {
  type Runner,
  type RunnerSettings,
  type RunnerSink,
  type RunnerState,
  type RunnerTicket,
  type Signature,
  WatchedState,
} from '@batchwise/runners';
import {
  type BatcherStats,
  BatchwiseError,
  type Clock,
  type CloseOptions,
  type EnqueueOptions,
  realClock,
} from 'batchwise';
import { type ItemSink, inTime, type RequestForm, SETTLED } from './request-form.js';

/** What is needed of the package. */
export type RedisClient = Pick<
  typeof import('@batchwise/redis'),
  'RedisBatcher' | 'RedisQueue' | 'connectionFrom'
>;

/** How often it looks for live processors: one script in Redis. */
const LOOK_EVERY_MS = 2_000;

/** Only when it is called, so that servers that need no Redis do not load its client. */
const loadPackage = () => import('@batchwise/redis');

export interface RedisRunnerOptions<I, R> {
  readonly name: string;
  /** With a queue. */
  readonly settings: RunnerSettings;
  readonly form: RequestForm<I, R>;
  /** Items in flight for which it gives the same value are sent once. */
  readonly dedupeBy?: ((item: I) => unknown) | undefined;
  /** Where Redis is, as far as the settings do not say it. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: (line: string) => void;
  /** @default that of @batchwise/redis */
  readonly loadClient?: (() => Promise<RedisClient>) | undefined;
  /** @default the real one */
  readonly clock?: Clock | undefined;
}

export class RedisRunner<I, R> implements Runner<I, R> {
  readonly name: string;
  readonly ready: Promise<void>;
  signature: Signature | undefined = undefined;
  readonly #options: RedisRunnerOptions<I, R>;
  readonly #form: RequestForm<I, R>;
  readonly #clock: Clock;
  readonly #state = new WatchedState('loading');
  #settings: RunnerSettings;
  #batcher: RedisBatcher<unknown, unknown> | undefined = undefined;
  #queue: RedisQueue | undefined = undefined;
  #lookTimer: unknown = undefined;
  #hasWorker = true;
  /** Redis was reached, and may be used. */
  #isFit = false;
  #isAwayTold = false;
  #failure: Error | undefined = undefined;
  #closing: Promise<void> | undefined = undefined;

  constructor(options: RedisRunnerOptions<I, R>) {
    this.name = options.name;
    this.#options = options;
    this.#form = options.form;
    this.#settings = options.settings;
    this.#clock = options.clock ?? realClock;
    this.ready = this.#load();
    this.ready.catch(() => {}); // told by its state, and to whoever sends something
  }

  get kind(): Runner['kind'] {
    return this.#form.kind;
  }

  get platform(): string {
    return this.#form.platform;
  }

  get state(): RunnerState {
    return this.#state.current;
  }

  get problem(): string | undefined {
    if (this.#failure !== undefined) return this.#failure.message.replace(/\.$/, '');
    const problem = this.#batcher?.problem;
    if (problem !== undefined) return problem.message.replace(/\.$/, '');
    return this.#hasWorker ? undefined : `the queue ${this.#settings.redis.queue} has no live worker`;
  }

  onStateChange(listener: () => void): () => void {
    return this.#state.onChange(listener);
  }

  enqueue(item: I, sink: RunnerSink<R>, options?: EnqueueOptions): RunnerTicket {
    const batcher = this.#batcher;
    if (batcher === undefined || this.#failure !== undefined || this.state === 'closed') {
      sink.reject(this.#notReadyError());
      return SETTLED;
    }
    const inThisTime = inTime(options, this.#settings.timeoutMs);
    return this.#form.enter(item, this.#settings, sink, (data, dataSink) =>
      this.#send(batcher, data, dataSink, inThisTime),
    );
  }

  /** What is in the queue keeps the time-out that it came with; where the queue is cannot change. */
  configure({ batching, timeoutMs }: RunnerSettings): void {
    this.#settings = { ...this.#settings, batching, timeoutMs };
  }

  /** Of this server's own requests: those in the queue are `running`. How batches fare, their processors know. */
  stats(): BatcherStats | undefined {
    const stats = this.#batcher?.stats();
    if (stats === undefined) return undefined;
    const reasons = Object.fromEntries(Object.keys(stats.reasons).map((reason) => [reason, 0]));
    return {
      ...stats,
      name: this.name,
      reasons: reasons as typeof stats.reasons,
      batches: 0,
      batchedItems: 0,
      batchesRunning: 0,
      curve: [],
      fullBatchMs: undefined,
    };
  }

  close(options?: CloseOptions): Promise<void> {
    this.#state.become('closed');
    this.#stopLooking();
    this.#closing ??= this.#batcher?.close(options) ?? Promise.resolve();
    return this.#closing;
  }

  #send(
    batcher: RedisBatcher<unknown, unknown>,
    item: unknown,
    sink: ItemSink,
    options: EnqueueOptions,
  ): RunnerTicket {
    const sentAt = this.#clock.now();
    return batcher.enqueue(
      item,
      {
        resolve: (result) => sink.resolve(result, this.#clock.now() - sentAt),
        reject: (error) => sink.reject(error),
      },
      options,
    );
  }

  async #load(): Promise<void> {
    try {
      const { loadClient = loadPackage } = this.#options;
      const [client, signature] = await Promise.all([loadClient(), this.#form.load()]);
      this.#checkOpen();
      const batcher = this.#newBatcher(client);
      this.#queue = new client.RedisQueue({ ...this.#connection(client), queue: batcher.settings.queue });
      batcher.onConnectionChange((isUp, reason) => this.#connectionChanged(isUp, reason));
      this.signature = signature;
      this.#batcher = batcher;
      await batcher.ready;
      await this.#lookForWorkers();
      this.#isFit = true;
      this.#lookAtConnection();
      // There are two connections, and only one of them has been used by now.
      while (this.state === 'loading') await this.#stateChange();
      this.#checkOpen();
    } catch (error) {
      this.#checkOpen();
      this.#failure = error as Error;
      this.#state.become('failed', this.problem);
      this.#stopLooking();
      this.#batcher?.destroy();
      throw error;
    }
  }

  #connection({ connectionFrom }: RedisClient): ReturnType<RedisClient['connectionFrom']> {
    return connectionFrom({ url: this.#settings.redis.url }, this.#options.env);
  }

  #newBatcher(client: RedisClient): RedisBatcher<unknown, unknown> {
    const { dedupeBy } = this.#options;
    const { redis, batching } = this.#settings;
    const { queue, maxBacklog } = redis;
    return new client.RedisBatcher({
      ...this.#connection(client),
      queue: queue as string,
      payload: this.#form.payload,
      maxBacklog,
      maxQueueSize: batching.maxQueueSize,
      // Not the runner's own: what it hands to Redis in one go is no batch of the model, and not to be counted as one.
      name: `${this.name} in Redis`,
      ...(dedupeBy === undefined ? {} : { dedupeBy: dedupeBy as (item: unknown) => unknown }),
    });
  }

  #connectionChanged(isUp: boolean, reason: Error | undefined): void {
    if (this.state === 'closed' || this.state === 'failed') return;
    const { log } = this.#options;
    if (isUp && reason !== undefined) {
      log(`${this.name}: ${reason.message}`);
    } else if (!isUp) {
      const what = this.#isFit ? 'the connection to Redis is lost' : 'waiting for Redis';
      log(`${this.name}: ${what}; retrying. ${reason?.message ?? ''}`.trimEnd());
      this.#isAwayTold = true;
    } else if (this.#isAwayTold) {
      log(`${this.name}: connected to Redis.`);
      this.#isAwayTold = false;
    }
    this.#lookAtConnection();
  }

  #lookAtConnection(): void {
    if (this.state === 'closed' || this.state === 'failed') return;
    const isReady = this.#isFit && this.#batcher?.isUp === true;
    this.#state.become(isReady ? 'ready' : 'loading', this.problem);
  }

  async #lookForWorkers(): Promise<void> {
    try {
      const { processors = [] } = (await this.#queue?.status()) ?? {};
      this.#hasWorker = processors.some(
        ({ isPaused, seenMsAgo, leaseMs }) => !isPaused && seenMsAgo <= leaseMs,
      );
    } catch {
      // Redis cannot be reached, which the batcher tells.
    }
    if (this.state === 'closed' || this.state === 'failed') return;
    this.#lookAtConnection();
    this.#lookTimer = this.#clock.setTimer(() => void this.#lookForWorkers(), LOOK_EVERY_MS);
  }

  #stopLooking(): void {
    this.#clock.clearTimer(this.#lookTimer);
    void this.#queue?.close();
  }

  #checkOpen(): void {
    if (this.state === 'closed') throw this.#notReadyError();
  }

  #stateChange(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.#state.onChange(() => {
        stop();
        resolve();
      });
    });
  }

  #notReadyError(): BatchwiseError {
    const { name, state } = this;
    if (state === 'closed') return new BatchwiseError('CLOSED', `${name}: the runner is closed.`);
    if (this.#failure === undefined)
      return new BatchwiseError('UNAVAILABLE', `${name}: not connected to Redis yet.`);
    const message = `${name}: the queue in Redis cannot be used: ${this.#failure.message}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause: this.#failure });
  }
}
