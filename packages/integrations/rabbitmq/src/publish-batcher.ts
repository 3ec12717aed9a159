/** A batcher that publishes messages on a confirm channel. Each caller waits for the confirm of its own message. */
import type { ConfirmChannel, Message, Options } from 'amqplib';
import { type BatchContext, Batcher, type BatcherOptions, BatchwiseError, type Results } from 'batchwise';
import { ChannelState, isClosedError } from './channel-state.js';

export interface OutgoingMessage {
  /**
   * The exchange must exist: the broker closes the channel if not.
   * @default '' (the default exchange: the routing key is the name of a queue)
   */
  readonly exchange?: string | undefined;
  readonly routingKey: string;
  /** A string is sent as UTF-8. */
  readonly content: Uint8Array | string;
  /** As for `channel.publish()` of amqplib: `persistent`, `mandatory`, `headers`, `expiration`, … */
  readonly options?: Options.Publish | undefined;
}

export interface PublishOptions extends BatcherOptions<OutgoingMessage> {
  /**
   * Larger messages fail with `INVALID_ITEM`. Should be the broker's `max_message_size`: for a message above that, the
   * broker closes the channel, and all unconfirmed messages fail with it.
   * @default 16777216 (the default of RabbitMQ 4; RabbitMQ 3 has 134217728)
   */
  readonly maxMessageBytes?: number | undefined;
}

const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/**
 * Added to mandatory messages: a message that the broker returns has no delivery tag, and two messages may be equal in
 * everything else.
 */
const NUMBER_HEADER = 'batchwise-number';

/** Of mandatory messages; of all channels, because several batchers may use one channel. */
let nextNumber = 1;

/** Resolves each message when the broker has confirmed it. */
export function publishBatcher(
  channel: ConfirmChannel,
  options: PublishOptions = {},
): Batcher<OutgoingMessage, void> {
  const { maxMessageBytes = MAX_MESSAGE_BYTES, ...batcherOptions } = options;
  if (!Number.isInteger(maxMessageBytes) || maxMessageBytes < 1) {
    throw new BatchwiseError(
      'INVALID_OPTION',
      `maxMessageBytes: expected a whole number above 0, got ${String(maxMessageBytes)}.`,
    );
  }
  const publisher = new Publisher(channel, maxMessageBytes);
  return new Batcher((messages, context) => publisher.publishAll(messages, context), {
    name: 'rabbitmq',
    ...batcherOptions,
  });
}

type Outcome = Error | undefined;

/** What the broker says of a message that it returns, besides what amqplib declares. */
interface ReturnedFields {
  readonly replyCode?: number;
  readonly replyText?: string;
}

class Publisher {
  readonly #channel: ConfirmChannel;
  readonly #state: ChannelState;
  readonly #maxMessageBytes: number;
  /** Mandatory messages that are unconfirmed, and the reason for which the broker has returned them. */
  readonly #mandatory = new Map<string, ReturnedFields | undefined>();
  /** Resolves when the channel takes more, or closes. */
  #drained: Promise<void> | undefined;
  #drain = () => {};

  constructor(channel: ConfirmChannel, maxMessageBytes: number) {
    this.#channel = channel;
    this.#maxMessageBytes = maxMessageBytes;
    this.#state = new ChannelState(channel, () => this.#drain());
    channel.on('drain', () => this.#drain());
    channel.on('return', (message: Message) => this.#returned(message));
  }

  async publishAll(messages: readonly OutgoingMessage[], context: BatchContext): Promise<Results<never>> {
    const confirms: Promise<void>[] = [];
    for (const [index, message] of messages.entries()) {
      while (this.#drained !== undefined) await this.#drained;
      if (context.signal.aborted) break;
      confirms.push(this.#publish(message).then((outcome) => context.answer(index, outcome)));
    }
    await Promise.all(confirms);
    return context.answered;
  }

  #publish(message: OutgoingMessage): Promise<Outcome> {
    return new Promise((resolve) => {
      try {
        const content = this.#validContent(message);
        const { exchange = '', routingKey, options } = message;
        const number = options?.mandatory ? String(nextNumber++) : undefined;
        const sent = number === undefined ? options : numbered(options, number);
        const hasRoom = this.#channel.publish(exchange, routingKey, content, sent, (error: unknown) =>
          resolve(this.#outcome(message, error, number)),
        );
        if (number !== undefined) this.#mandatory.set(number, undefined);
        if (!hasRoom) this.#waitForDrain();
      } catch (error) {
        // amqplib encodes a message before it writes: nothing of it was sent.
        resolve(isClosedError(error) ? this.#unavailable(error) : invalidItem(error));
      }
    });
  }

  #validContent({ content, routingKey, options }: OutgoingMessage): Buffer {
    if (typeof routingKey !== 'string')
      throw new TypeError(`routingKey: expected a string, got ${routingKey}.`);
    if (typeof content !== 'string' && !(content instanceof Uint8Array)) {
      throw new TypeError(
        `content: expected a string, a Buffer or another Uint8Array, got ${typeof content}.`,
      );
    }
    const bytes = typeof content === 'string' ? Buffer.from(content) : asBuffer(content);
    if (bytes.length > this.#maxMessageBytes) {
      throw new RangeError(
        `content: expected at most ${this.#maxMessageBytes} bytes (maxMessageBytes), got ${bytes.length}.`,
      );
    }
    const expiration = options?.expiration;
    if (expiration !== undefined && !/^\d+$/.test(String(expiration))) {
      throw new TypeError(`options.expiration: expected milliseconds, got ${expiration}.`);
    }
    return bytes;
  }

  #waitForDrain(): void {
    this.#drained ??= new Promise((resolve) => {
      this.#drain = () => {
        this.#drained = undefined;
        resolve();
      };
    });
  }

  #returned({ fields, properties }: Message): void {
    const number: unknown = properties.headers?.[NUMBER_HEADER];
    if (typeof number !== 'string' || !this.#mandatory.has(number)) return;
    this.#mandatory.set(number, fields as ReturnedFields);
  }

  /** The broker sends the return of a message before its confirm. */
  #outcome(message: OutgoingMessage, error: unknown, number: string | undefined): Outcome {
    const returned = number === undefined ? undefined : this.#mandatory.get(number);
    if (number !== undefined) this.#mandatory.delete(number);
    if (this.#state.isClosed) return this.#unavailable(this.#state.cause ?? error);
    if (error instanceof Error) {
      return new BatchwiseError(
        'UNAVAILABLE',
        `The broker did not take the message to ${address(message)} (nack): a queue is full and rejects messages, or the broker failed. Publish it again later.`,
        { cause: error },
      );
    }
    if (returned !== undefined) {
      return new BatchwiseError(
        'INVALID_ITEM',
        `The broker returned the mandatory message to ${address(message)}: ${returned.replyCode} ${returned.replyText}. Bind a queue for it, or leave out mandatory.`,
      );
    }
    return undefined;
  }

  #unavailable(cause: unknown): BatchwiseError {
    const why = this.#state.cause instanceof Error ? ` (${this.#state.cause.message})` : '';
    return new BatchwiseError(
      'UNAVAILABLE',
      `The channel was closed${why} before the broker confirmed the message: it may or may not be stored. Publish it on a new channel, with a new batcher.`,
      { cause },
    );
  }
}

function numbered(options: Options.Publish | undefined, number: string): Options.Publish {
  return { ...options, headers: { ...options?.headers, [NUMBER_HEADER]: number } };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function invalidItem(error: unknown): BatchwiseError {
  const message = error instanceof Error ? error.message : String(error);
  return new BatchwiseError('INVALID_ITEM', `The message cannot be published: ${message}`, { cause: error });
}

function address({ exchange = '', routingKey }: OutgoingMessage): string {
  return `exchange '${exchange}' with routing key '${routingKey}'`;
}
