/** Receives messages, has them handled in batches, and deletes or returns each by its own result. */
import { type Message, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { invalidOption, pause } from '@batchwise/aws';
import {
  Batcher,
  type BatcherOptions,
  type BatcherStats,
  BatchwiseError,
  type Clock,
  type CloseOptions,
} from 'batchwise';
import { Acknowledgements } from './acknowledgements.js';
import type { ConsumeHandler, Consumer } from './consume.js';
import { Delivery } from './delivery.js';
import { sqsErrors } from './sqs-errors.js';

export interface ConsumerSettings {
  readonly queueUrl: string;
  readonly waitTimeSeconds: number;
  readonly visibilityTimeoutSeconds: number;
  readonly retryDelaySeconds: number;
  readonly onError: (error: Error, message?: Message) => void;
}

export interface ConsumerParts {
  readonly client: SQSClient;
  readonly handler: ConsumeHandler;
  readonly settings: ConsumerSettings;
  readonly batching: BatcherOptions<Message> & {
    readonly maxBatchSize: number;
    readonly concurrency: number;
    readonly clock: Clock;
  };
}

const MAX_RECEIVED = 10;

/** The most messages in hand, whatever `maxBatchSize` is: they are hidden from other consumers. */
const MAX_UNFINISHED = 1000;

/** Delay after a failed request for messages, doubled each time. */
const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 10_000;

export class QueueConsumer implements Consumer {
  readonly #client: SQSClient;
  readonly #settings: ConsumerSettings;
  readonly #clock: Clock;
  readonly #batcher: Batcher<Message, unknown>;
  readonly #acknowledgements: Acknowledgements;
  /** One batch in each slot, and one that is waiting. */
  readonly #maxUnfinished: number;
  #unfinished = 0;
  #roomMade = () => {};
  /** Fires at `close()`; ends pauses. */
  readonly #stop = new AbortController();
  /** Fires when the time of `close()` is up; ends the request for messages. */
  readonly #giveUp = new AbortController();
  readonly #work = new Set<Promise<void>>();
  readonly #ended: Promise<void>;

  constructor({ client, handler, settings, batching }: ConsumerParts) {
    const { maxBatchSize, concurrency, clock } = batching;
    this.#client = client;
    this.#settings = settings;
    this.#clock = clock;
    const batchSize = maxBatchSize === -1 ? Number.POSITIVE_INFINITY : maxBatchSize;
    this.#maxUnfinished = Math.min(MAX_UNFINISHED, batchSize * (concurrency + 1));
    this.#acknowledgements = new Acknowledgements(client, settings.queueUrl, clock);
    this.#batcher = new Batcher<Message, unknown>(
      async (messages, context) => (await handler(messages, context)) ?? messages.map(() => undefined),
      batching,
    );
    this.#ended = this.#run();
  }

  stats(): BatcherStats {
    return this.#batcher.stats();
  }

  async close({ timeoutMs = Number.POSITIVE_INFINITY }: CloseOptions = {}): Promise<void> {
    if (!(timeoutMs >= 0)) {
      throw invalidOption(`close({ timeoutMs }): expected milliseconds, 0 or more, got ${timeoutMs}.`);
    }
    this.#stop.abort();
    const timer = Number.isFinite(timeoutMs) ? this.#clock.setTimer(this.#abandon, timeoutMs) : undefined;
    await this.#ended;
    if (timer !== undefined) this.#clock.clearTimer(timer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  readonly #abandon = (): void => {
    this.#giveUp.abort();
    this.#batcher.destroy(); // its callers, below, return their messages
  };

  async #run(): Promise<void> {
    await this.#receive();
    await Promise.all(this.#work);
    await Promise.all([this.#batcher.close(), this.#acknowledgements.close()]);
  }

  async #receive(): Promise<void> {
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      const room = this.#maxUnfinished - this.#unfinished;
      // Not for each message that is finished: a request brings up to ten.
      if (room < Math.min(MAX_RECEIVED, this.#maxUnfinished / 2)) {
        await pause(this.#clock, this.#stop.signal, (resume) => {
          this.#roomMade = resume;
        });
        continue;
      }
      try {
        this.#accept(await this.#request(Math.min(MAX_RECEIVED, room)));
        failures = 0;
      } catch (thrown) {
        if (this.#giveUp.signal.aborted) return;
        this.#report(sqsErrors.failureOf(thrown, 'ReceiveMessage'));
        const delayMs = Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** failures);
        failures += 1;
        await pause(this.#clock, this.#stop.signal, (resume) =>
          this.#clock.setTimer(resume, delayMs * (0.5 + Math.random() / 2)),
        );
      }
    }
  }

  async #request(count: number): Promise<readonly Message[]> {
    const { queueUrl, waitTimeSeconds, visibilityTimeoutSeconds } = this.#settings;
    const command = new ReceiveMessageCommand({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: count,
      WaitTimeSeconds: waitTimeSeconds,
      VisibilityTimeout: visibilityTimeoutSeconds,
      MessageAttributeNames: ['All'],
      MessageSystemAttributeNames: ['All'],
    });
    const { Messages } = await this.#client.send(command, { abortSignal: this.#giveUp.signal });
    return Messages ?? [];
  }

  #accept(messages: readonly Message[]): void {
    if (messages.length === 0) return;
    this.#unfinished += messages.length;
    const delivery = new Delivery(messages, (message) => this.#extend(message), {
      clock: this.#clock,
      visibilityTimeoutSeconds: this.#settings.visibilityTimeoutSeconds,
    });
    for (const sequence of this.#sequencesOf(messages)) {
      const work = this.#process(sequence, delivery).finally(() => this.#work.delete(work));
      this.#work.add(work);
    }
  }

  /** Messages that must be handled one after the other: those of a message group of a FIFO queue. */
  #sequencesOf(messages: readonly Message[]): Message[][] {
    if (!this.#settings.queueUrl.endsWith('.fifo')) return messages.map((message) => [message]);
    const byGroup = new Map<string | undefined, Message[]>();
    for (const message of messages) {
      const group = message.Attributes?.MessageGroupId;
      byGroup.set(group, [...(byGroup.get(group) ?? []), message]);
    }
    return [...byGroup.values()];
  }

  /** After a message that fails, the rest of its sequence is returned, too, in order not to overtake it. */
  async #process(sequence: readonly Message[], delivery: Delivery): Promise<void> {
    let failure: unknown;
    for (const message of sequence) {
      try {
        if (failure === undefined) await this.#batcher.submit(message);
      } catch (thrown) {
        failure = thrown;
        this.#report(thrown, message);
      }
      await delivery.finish(message);
      try {
        if (failure === undefined) await this.#acknowledgements.delete(message);
        else await this.#acknowledgements.hide(message, this.#returnAfterSeconds(failure));
      } catch (thrown) {
        failure ??= thrown;
        this.#report(thrown, message);
      }
      this.#unfinished -= 1;
      this.#roomMade();
    }
  }

  /** A message that was not handled because the consumer is closed goes to another one at once. */
  #returnAfterSeconds(failure: unknown): number {
    const isClosed = failure instanceof BatchwiseError && failure.code === 'CLOSED';
    return isClosed ? 0 : this.#settings.retryDelaySeconds;
  }

  async #extend(message: Message): Promise<void> {
    try {
      await this.#acknowledgements.hide(message, this.#settings.visibilityTimeoutSeconds);
    } catch (thrown) {
      this.#report(thrown, message);
    }
  }

  #report(thrown: unknown, message?: Message): void {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    try {
      this.#settings.onError(error, message);
    } catch (thrownThere) {
      process.emitWarning(thrownThere instanceof Error ? thrownThere : String(thrownThere));
    }
  }
}
