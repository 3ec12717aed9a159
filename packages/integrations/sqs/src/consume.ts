/** The options of a consumer, and the function that starts one. */
import type { Message, SQSClient } from '@aws-sdk/client-sqs';
import { checkWithin, invalidOption } from '@batchwise/aws';
import {
  type BatchContext,
  type BatcherOptions,
  type BatcherStats,
  type CloseOptions,
  type Results,
  realClock,
} from 'batchwise';
import { QueueConsumer } from './queue-consumer.js';
import { checkQueueUrl } from './queue-url.js';

export interface ConsumeOptions extends BatcherOptions<Message> {
  readonly queueUrl: string;
  /**
   * How long a request for messages waits for the first one, 1 to 20 s.
   * @default 20
   */
  readonly waitTimeSeconds?: number | undefined;
  /**
   * How long a received message is hidden from other consumers, 3 to 43200 s. It is extended as long as the message is
   * in work here; when this process dies, the message is delivered again after this time.
   * @default 30
   */
  readonly visibilityTimeoutSeconds?: number | undefined;
  /**
   * After how long a message whose result is an `Error` is delivered again, 0 to 43200 s.
   * @default 0
   */
  readonly retryDelaySeconds?: number | undefined;
  /**
   * Is called with each error: of a message, which is the second argument, or of a request for messages.
   * @default process.emitWarning
   */
  readonly onError?: ((error: Error, message?: Message) => void) | undefined;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement
type Returned = Results<unknown> | void;

/** A handler of the core. One that returns nothing has succeeded with all messages. */
export type ConsumeHandler = (messages: Message[], context: BatchContext) => PromiseLike<Returned> | Returned;

export interface Consumer extends AsyncDisposable {
  /**
   * Stops receiving, finishes the messages that were received, and resolves. The request for messages that is waiting is
   * the last one. After `timeoutMs` it is aborted, and unfinished messages are returned to the queue.
   */
  close(options?: CloseOptions): Promise<void>;
  /** Of the batcher that calls the handler. */
  stats(): BatcherStats;
}

const MAX_VISIBILITY_SECONDS = 12 * 60 * 60;

/** As many as one request for messages can bring. */
const DEFAULT_BATCH_SIZE = 10;

/**
 * Receives messages until it is closed, and calls the handler with batches of them. A message is deleted if its result is
 * not an `Error`, and returned to the queue if it is.
 */
export function consume(client: SQSClient, options: ConsumeOptions, handler: ConsumeHandler): Consumer {
  const {
    queueUrl,
    waitTimeSeconds = 20,
    visibilityTimeoutSeconds = 30,
    retryDelaySeconds = 0,
    onError = (error: Error) => process.emitWarning(error),
    ...rest
  } = options;
  checkQueueUrl(queueUrl);
  checkWithin('waitTimeSeconds', waitTimeSeconds, 1, 20);
  checkWithin('visibilityTimeoutSeconds', visibilityTimeoutSeconds, 3, MAX_VISIBILITY_SECONDS);
  checkWithin('retryDelaySeconds', retryDelaySeconds, 0, MAX_VISIBILITY_SECONDS);
  if (typeof onError !== 'function')
    throw invalidOption(`onError: expected a function, got ${typeof onError}.`);
  if (typeof handler !== 'function')
    throw invalidOption(`handler: expected a function, got ${typeof handler}.`);
  const {
    maxBatchSize = DEFAULT_BATCH_SIZE,
    concurrency = 1,
    clock = realClock,
    name = 'SQS consumer',
  } = rest;
  return new QueueConsumer({
    client,
    handler,
    settings: { queueUrl, waitTimeSeconds, visibilityTimeoutSeconds, retryDelaySeconds, onError },
    batching: { ...rest, maxBatchSize, concurrency, clock, name },
  });
}
