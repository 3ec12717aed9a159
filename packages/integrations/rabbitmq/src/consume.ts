/** Consumes a queue through a batcher. Each message is acknowledged or rejected by its own result. */
import type { Channel, ConsumeMessage } from 'amqplib';
import {
  type BatchContext,
  Batcher,
  type BatcherOptions,
  type BatcherStats,
  BatchwiseError,
  type CloseOptions,
  type Results,
} from 'batchwise';
import { ChannelState, isClosedError } from './channel-state.js';

/** These would reject messages that the consumer has already taken; the prefetch count limits them instead. */
const NOT_FOR_CONSUMERS = ['maxQueueSize', 'timeoutMs', 'targetLatencyMs', 'admission'] as const;

export interface ConsumeOptions
  extends Omit<BatcherOptions<ConsumeMessage>, (typeof NOT_FOR_CONSUMERS)[number]> {
  /**
   * Whether a message whose result is an `Error` returns to the queue. If not, the broker moves it to the dead-letter
   * exchange of the queue, or drops it if the queue has none.
   * @default once: a message returns to the queue unless it has been delivered before
   */
  readonly requeue?: boolean | ((error: Error, message: ConsumeMessage) => boolean) | undefined;
  /**
   * Is called with the error of each failed message.
   * @default process.emitWarning
   */
  readonly onError?: ((error: Error, message: ConsumeMessage) => void) | undefined;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement
type Returned = Results<unknown> | void;

/** A handler of the core. One that returns nothing has succeeded with all messages. */
export type ConsumeHandler = (
  messages: ConsumeMessage[],
  context: BatchContext,
) => PromiseLike<Returned> | Returned;

export interface Consumer extends AsyncDisposable {
  readonly consumerTag: string;
  /** Of the batcher that calls the handler. */
  stats(): BatcherStats;
  /**
   * Cancels the consumer, handles the messages that it has received, and resolves when the last one is acknowledged
   * or rejected. With `timeoutMs`, messages that are not handled by then return to the queue.
   */
  close(options?: CloseOptions): Promise<void>;
}

/** The prefetch count is a 16-bit number (AMQP 0-9-1, basic.qos). */
const MAX_PREFETCH = 65_535;
const MAX_BATCH_SIZE = 64;

/** Resolves when the broker has accepted the consumer. */
export async function consume(
  channel: Channel,
  queue: string,
  handler: ConsumeHandler,
  options: ConsumeOptions = {},
): Promise<Consumer> {
  const { requeue, onError = (error: Error) => process.emitWarning(error), ...batcherOptions } = options;
  checkFunction('handler', handler);
  checkFunction('onError', onError);
  const prefetch = validPrefetch(batcherOptions);
  const batcher = new Batcher<ConsumeMessage, unknown>(
    async (messages, context) => (await handler(messages, context)) ?? messages,
    { name: `rabbitmq ${queue}`, ...batcherOptions },
  );
  const deliveries = new Deliveries(channel, batcher, { requeues: requeueRule(requeue), onError });
  await channel.prefetch(prefetch);
  // The broker sends null when it cancels the consumer; the channel emits 'cancel' for that.
  const { consumerTag } = await channel.consume(queue, (message) => {
    if (message !== null) deliveries.receive(message);
  });
  const close = (closeOptions?: CloseOptions) => deliveries.close(consumerTag, closeOptions);
  return { consumerTag, stats: () => batcher.stats(), close, [Symbol.asyncDispose]: () => close() };
}

/** What happens to failed messages. */
interface FailureRules {
  requeues(error: Error, message: ConsumeMessage): boolean;
  onError(error: Error, message: ConsumeMessage): void;
}

class Deliveries {
  readonly #channel: Channel;
  readonly #state: ChannelState;
  readonly #batcher: Batcher<ConsumeMessage, unknown>;
  readonly #rules: FailureRules;
  #isClosing = false;

  constructor(channel: Channel, batcher: Batcher<ConsumeMessage, unknown>, rules: FailureRules) {
    this.#channel = channel;
    this.#batcher = batcher;
    this.#rules = rules;
    // The broker delivers again what is unacknowledged, so the results of running batches are of no use.
    this.#state = new ChannelState(channel, () => batcher.destroy());
  }

  receive(message: ConsumeMessage): void {
    this.#batcher.enqueue(message, {
      resolve: () => this.#settle(() => this.#channel.ack(message)),
      reject: (error) => this.#settle(() => this.#reject(message, error)),
    });
  }

  async close(consumerTag: string, options: CloseOptions | undefined): Promise<void> {
    this.#isClosing = true;
    await this.#cancel(consumerTag);
    await this.#batcher.close(options);
  }

  async #cancel(consumerTag: string): Promise<void> {
    try {
      await this.#channel.cancel(consumerTag);
    } catch (error) {
      // A closed channel has no consumers.
      if (!this.#state.isClosed && !isClosedError(error)) throw error;
    }
  }

  #reject(message: ConsumeMessage, error: Error): void {
    const isUnhandled = this.#isClosing && error instanceof BatchwiseError && error.code === 'CLOSED';
    this.#channel.nack(message, false, isUnhandled || this.#rules.requeues(error, message));
    if (!isUnhandled) this.#rules.onError(error, message);
  }

  #settle(send: () => void): void {
    if (this.#state.isClosed) return;
    try {
      send();
    } catch (error) {
      // The channel is closing: the broker delivers the message again.
      if (!isClosedError(error)) throw error;
    }
  }
}

function requeueRule(requeue: ConsumeOptions['requeue']): FailureRules['requeues'] {
  if (requeue === undefined) return (_error, { fields }) => !fields.redelivered;
  if (typeof requeue === 'function') return requeue;
  if (typeof requeue === 'boolean') return () => requeue;
  throw new BatchwiseError(
    'INVALID_OPTION',
    `requeue: expected true, false or a function (error, message) => boolean, got ${String(requeue)}.`,
  );
}

function checkFunction(name: string, value: unknown): void {
  if (typeof value === 'function') return;
  throw new BatchwiseError('INVALID_OPTION', `${name}: expected a function, got ${typeof value}.`);
}

/** Enough for the running batches and the next one. */
function validPrefetch(options: BatcherOptions<ConsumeMessage>): number {
  for (const name of NOT_FOR_CONSUMERS) {
    if (options[name] === undefined) continue;
    throw new BatchwiseError(
      'INVALID_OPTION',
      `${name}: not an option of consume(), which never rejects a message that the broker has delivered. The prefetch count, maxBatchSize × (concurrency + 1), limits the queue.`,
    );
  }
  const { maxBatchSize = MAX_BATCH_SIZE, concurrency = 1 } = options;
  const prefetch = maxBatchSize * (concurrency + 1);
  // Core reports what is wrong with a value that is not a count.
  if (maxBatchSize === -1 || prefetch > MAX_PREFETCH) {
    throw new BatchwiseError(
      'INVALID_OPTION',
      `maxBatchSize × (concurrency + 1) is the prefetch count: expected at most ${MAX_PREFETCH}, got ${maxBatchSize === -1 ? Number.POSITIVE_INFINITY : prefetch}.`,
    );
  }
  return prefetch;
}
