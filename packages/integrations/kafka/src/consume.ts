/** Consumes topics through a batcher. Offsets are committed up to the last message before which all have succeeded. */
import {
  type BatchContext,
  Batcher,
  type BatcherOptions,
  type BatcherStats,
  BatchwiseError,
  type CloseOptions,
  type Results,
  realClock,
} from 'batchwise';
import type { Consumer, EachBatchPayload } from 'kafkajs';
import { type Failure, PartitionRun, type ReceivedMessage, type RunSettings } from './partition-run.js';

/** These would fail messages that the consumer has fetched; it fetches no more than it can take instead. */
const NOT_FOR_CONSUMERS = ['maxQueueSize', 'timeoutMs', 'targetLatencyMs', 'admission'] as const;

export interface ConsumeOptions
  extends Omit<BatcherOptions<ReceivedMessage>, (typeof NOT_FOR_CONSUMERS)[number]> {
  /**
   * Is called with each message whose result is an `Error`; may be async. The message counts as done when it has
   * succeeded: for a dead-letter topic. If it throws, or is not given, the partition stops at the message.
   */
  readonly onFailed?: ((error: Error, received: ReceivedMessage) => unknown) | undefined;
  /**
   * When a partition that has stopped at a failed message continues with that message.
   * @default 1000
   */
  readonly retryDelayMs?: number | undefined;
  /**
   * Whether a group without committed offsets starts with the oldest messages, as for `consumer.subscribe()`.
   * @default false
   */
  readonly fromBeginning?: boolean | undefined;
  /**
   * How many partitions fill the batches together, as for `consumer.run()`.
   * @default 8
   */
  readonly partitionsConsumedConcurrently?: number | undefined;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement
type Returned = Results<unknown> | void;

/** A handler of the core. One that returns nothing has succeeded with all messages. */
export type ConsumeHandler = (
  received: ReceivedMessage[],
  context: BatchContext,
) => PromiseLike<Returned> | Returned;

export interface BatchConsumer extends AsyncDisposable {
  /** Of the batcher that calls the handler. */
  stats(): BatcherStats;
  /**
   * Finishes the batches that are queued or run, commits their offsets, leaves the group and resolves. With
   * `timeoutMs`, messages that are not handled by then are delivered again to the group.
   */
  close(options?: CloseOptions): Promise<void>;
}

const MAX_BATCH_SIZE = 64;
const PARTITIONS = 8;
const RETRY_DELAY_MS = 1000;

type UsedConsumer = Pick<Consumer, 'subscribe' | 'run' | 'stop' | 'on' | 'events' | 'logger'>;

/** `consumer` must be connected, and have nothing else to run. Resolves when it has joined its group. */
export async function consume(
  consumer: UsedConsumer,
  topics: readonly (string | RegExp)[],
  handler: ConsumeHandler,
  options: ConsumeOptions = {},
): Promise<BatchConsumer> {
  const {
    onFailed,
    retryDelayMs = RETRY_DELAY_MS,
    fromBeginning = false,
    partitionsConsumedConcurrently = PARTITIONS,
    ...rest
  } = options;
  checkFunction('handler', handler);
  if (onFailed !== undefined) checkFunction('onFailed', onFailed);
  if (!(retryDelayMs >= 0)) {
    throw invalidOption(`retryDelayMs: expected milliseconds from 0 up, got ${String(retryDelayMs)}.`);
  }
  checkBatcherOptions(rest);
  const { maxBatchSize = MAX_BATCH_SIZE, concurrency = 1, clock = realClock } = rest;
  const batcher = new Batcher<ReceivedMessage, unknown>(
    async (received, context) => (await handler(received, context)) ?? received,
    { name: 'kafka', ...rest },
  );
  // Enough for the running batches and the next one; -1 is no limit.
  const window = maxBatchSize === -1 ? Number.POSITIVE_INFINITY : maxBatchSize * (concurrency + 1);
  const group = new GroupMember(consumer, { batcher, clock, window, onFailed }, retryDelayMs);
  await consumer.subscribe({ topics: [...topics], fromBeginning });
  await consumer.run({
    eachBatchAutoResolve: false,
    partitionsConsumedConcurrently,
    eachBatch: (payload) => group.eachBatch(payload),
  });
  const close = (closeOptions?: CloseOptions) => group.close(closeOptions);
  return { stats: () => batcher.stats(), close, [Symbol.asyncDispose]: () => close() };
}

class GroupMember {
  readonly #consumer: UsedConsumer;
  readonly #settings: Omit<RunSettings, 'isCurrent' | 'isClosing'>;
  readonly #retryDelayMs: number;
  readonly #stopListening: () => void;
  readonly #resumeTimers = new Set<unknown>();
  /** How often the consumer has joined its group: then the partitions are assigned anew. */
  #joins = 0;
  #isClosing = false;

  constructor(
    consumer: UsedConsumer,
    settings: Omit<RunSettings, 'isCurrent' | 'isClosing'>,
    retryDelayMs: number,
  ) {
    this.#consumer = consumer;
    this.#settings = settings;
    this.#retryDelayMs = retryDelayMs;
    this.#stopListening = consumer.on(consumer.events.GROUP_JOIN, () => {
      this.#joins += 1;
    });
  }

  async eachBatch(payload: EachBatchPayload): Promise<void> {
    const joins = this.#joins;
    const isCurrent = () => joins === this.#joins;
    const isClosing = () => this.#isClosing;
    const failure = await new PartitionRun(payload, { ...this.#settings, isCurrent, isClosing }).run();
    if (failure !== undefined && isCurrent() && !isClosing()) this.#pause(payload, failure);
  }

  /** kafkajs continues after the last resolved offset, which is before the failed message. */
  #pause(payload: EachBatchPayload, { received, error }: Failure): void {
    const { topic, partition, message } = received;
    const { clock } = this.#settings;
    this.#consumer
      .logger()
      .error(`Message failed, delivered again in ${this.#retryDelayMs} ms: ${error.message}`, {
        topic,
        partition,
        offset: message.offset,
        stack: error.stack,
      });
    const resume = payload.pause();
    const timer = clock.setTimer(() => {
      this.#resumeTimers.delete(timer);
      resume();
    }, this.#retryDelayMs);
    this.#resumeTimers.add(timer);
  }

  async close(options: CloseOptions | undefined): Promise<void> {
    this.#isClosing = true;
    for (const timer of this.#resumeTimers) this.#settings.clock.clearTimer(timer);
    this.#resumeTimers.clear();
    // Both at once: kafkajs waits for the runs, and the runs wait for the batcher.
    await Promise.all([this.#consumer.stop(), this.#settings.batcher.close(options)]);
    this.#stopListening();
  }
}

function checkBatcherOptions(options: BatcherOptions<ReceivedMessage>): void {
  for (const name of NOT_FOR_CONSUMERS) {
    if (options[name] === undefined) continue;
    throw invalidOption(
      `${name}: not an option of consume(), which never rejects a message that it has fetched. At most maxBatchSize × (concurrency + 1) messages of a partition are queued or run.`,
    );
  }
}

function checkFunction(name: string, value: unknown): void {
  if (typeof value !== 'function') throw invalidOption(`${name}: expected a function, got ${typeof value}.`);
}

function invalidOption(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', message);
}
