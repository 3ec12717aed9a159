/**
 * A runner that does not run here: its requests go to a queue in Redis, and processors elsewhere
 * (`batchwise worker`) run the batches. It is ready while Redis can be reached; whether a processor is there
 * is not known here, and requests wait for one.
 */
import type { RedisBatcher } from '@batchwise/redis';
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
export type RedisClient = Pick<typeof import('@batchwise/redis'), 'RedisBatcher' | 'connectionFrom'>;

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
      batcher.onConnectionChange((isUp, reason) => this.#connectionChanged(isUp, reason));
      this.signature = signature;
      this.#batcher = batcher;
      await batcher.ready;
      this.#isFit = true;
      this.#lookAtConnection();
      // There are two connections, and only one of them has been used by now.
      if (this.state === 'loading') await this.#stateChange();
      this.#checkOpen();
    } catch (error) {
      this.#checkOpen();
      this.#failure = error as Error;
      this.#state.become('failed');
      this.#batcher?.destroy();
      throw error;
    }
  }

  #newBatcher({ RedisBatcher: Client, connectionFrom }: RedisClient): RedisBatcher<unknown, unknown> {
    const { env, dedupeBy } = this.#options;
    const { redis, batching } = this.#settings;
    const { queue, url, maxBacklog } = redis;
    return new Client({
      ...connectionFrom({ url }, env),
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
    if (!isUp) {
      const what = this.#isFit ? 'the connection to Redis is lost' : 'waits for Redis';
      log(`${this.name}: ${what}; it is tried again. ${reason?.message ?? ''}`.trimEnd());
      this.#isAwayTold = true;
    } else if (this.#isAwayTold) {
      log(`${this.name}: Redis can be reached.`);
      this.#isAwayTold = false;
    }
    this.#lookAtConnection();
  }

  #lookAtConnection(): void {
    if (this.state === 'closed' || !this.#isFit) return;
    this.#state.become(this.#batcher?.isUp === true ? 'ready' : 'loading');
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
      return new BatchwiseError('UNAVAILABLE', `${name}: the queue in Redis is not reached yet.`);
    const message = `${name}: the queue in Redis cannot be used: ${this.#failure.message}`;
    return new BatchwiseError('UNAVAILABLE', message, { cause: this.#failure });
  }
}
