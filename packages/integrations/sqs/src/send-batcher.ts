/** Messages, up to ten in one SendMessageBatch. */
import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { type AcceptedMessage, type EntryBatcherOptions, entryBatcher } from '@batchwise/aws';
import type { Batcher } from 'batchwise';
import { fieldsOf, type OutgoingMessage } from './outgoing-message.js';
import { checkQueueUrl } from './queue-url.js';
import { sqsErrors } from './sqs-errors.js';

export interface SendBatcherOptions extends EntryBatcherOptions<OutgoingMessage> {
  readonly queueUrl: string;
}

export type SentMessage = AcceptedMessage;

const MAX_ATTRIBUTES = 10;

/** `submit({ body })` resolves to the id of the message when SQS has stored it. */
export function sendBatcher(
  client: SQSClient,
  options: SendBatcherOptions,
): Batcher<OutgoingMessage, SentMessage> {
  const { queueUrl, ...rest } = options;
  checkQueueUrl(queueUrl);
  return entryBatcher(
    {
      operation: 'SendMessageBatch',
      errors: sqsErrors,
      target: 'queue',
      isFifo: queueUrl.endsWith('.fifo'),
      maxAttributes: MAX_ATTRIBUTES,
      textName: 'body',
      textOf: ({ body }) => body,
      fieldsOf,
      send: (Entries, sendOptions) =>
        client.send(new SendMessageBatchCommand({ QueueUrl: queueUrl, Entries }), sendOptions),
    },
    rest,
  );
}
