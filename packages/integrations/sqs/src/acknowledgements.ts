/** Tells SQS what became of received messages: up to ten deletions, or ten changes of visibility, in one request. */
import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  type Message,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { type Answer, batchRequest, type Entry } from '@batchwise/aws';
import { Batcher, type Clock } from 'batchwise';
import { sqsErrors } from './sqs-errors.js';

const MAX_ENTRIES = 10;
const CONCURRENCY = 8;

interface VisibilityChange {
  readonly message: Message;
  readonly seconds: number;
}

export class Acknowledgements {
  readonly #deletions: Batcher<Message, void>;
  readonly #changes: Batcher<VisibilityChange, void>;

  constructor(client: SQSClient, queueUrl: string, clock: Clock) {
    this.#deletions = entriesBatcher(
      'DeleteMessageBatch',
      clock,
      ({ ReceiptHandle }: Message, Id) => ({ Id, ReceiptHandle }),
      (Entries) => client.send(new DeleteMessageBatchCommand({ QueueUrl: queueUrl, Entries })),
    );
    this.#changes = entriesBatcher(
      'ChangeMessageVisibilityBatch',
      clock,
      ({ message: { ReceiptHandle }, seconds }: VisibilityChange, Id) => ({
        Id,
        ReceiptHandle,
        VisibilityTimeout: seconds,
      }),
      (Entries) => client.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl: queueUrl, Entries })),
    );
  }

  delete(message: Message): Promise<void> {
    return this.#deletions.submit(message);
  }

  /** The message is delivered again after so many seconds, unless it is deleted before. */
  hide(message: Message, seconds: number): Promise<void> {
    return this.#changes.submit({ message, seconds });
  }

  async close(): Promise<void> {
    await Promise.all([this.#deletions.close(), this.#changes.close()]);
  }
}

function entriesBatcher<I, E extends Entry>(
  name: string,
  clock: Clock,
  entryOf: (item: I, id: string) => E,
  send: (entries: E[]) => Promise<Answer<Entry>>,
): Batcher<I, void> {
  return new Batcher<I, void>(
    async (items) => {
      const entries = items.map((item, index) => entryOf(item, String(index)));
      const results = await batchRequest(entries, send, name, sqsErrors);
      return entries.map(({ Id }) => {
        const result = results.get(Id);
        return result instanceof Error ? result : undefined;
      });
    },
    { maxBatchSize: MAX_ENTRIES, concurrency: CONCURRENCY, clock, name },
  );
}
