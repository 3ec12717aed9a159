/** Messages to a topic, up to ten in one PublishBatch. */
import { PublishBatchCommand, type SNSClient } from '@aws-sdk/client-sns';
import {
  type AcceptedMessage,
  type EntryBatcherOptions,
  entryBatcher,
  invalidOption,
  ServiceErrors,
} from '@batchwise/aws';
import type { Batcher } from 'batchwise';
import { fieldsOf, type TopicMessage } from './topic-message.js';

export interface PublishBatcherOptions extends EntryBatcherOptions<TopicMessage> {
  readonly topicArn: string;
}

export type PublishedMessage = AcceptedMessage;

const TOPIC_ARN = /^arn:[^:]+:sns:[^:]*:[^:]*:.+$/;

/** SNS rejects a whole request because of one message: the others may be sent without it. */
const REJECTED = /(InvalidParameter|ValidationException|MissingParameter|BatchRequestTooLong)/;

/** `submit({ message })` resolves to the id of the message when SNS has accepted it. */
export function publishBatcher(
  client: SNSClient,
  options: PublishBatcherOptions,
): Batcher<TopicMessage, PublishedMessage> {
  const { topicArn, ...rest } = options;
  if (typeof topicArn !== 'string' || !TOPIC_ARN.test(topicArn)) {
    throw invalidOption(`topicArn: expected the ARN of a topic, got ${JSON.stringify(topicArn)}.`);
  }
  return entryBatcher(
    {
      operation: 'PublishBatch',
      errors: new ServiceErrors('SNS', REJECTED),
      target: 'topic',
      isFifo: topicArn.endsWith('.fifo'),
      maxAttributes: Number.POSITIVE_INFINITY,
      textName: 'message',
      textOf: ({ message }) => message,
      fieldsOf,
      send: (PublishBatchRequestEntries, sendOptions) =>
        client.send(new PublishBatchCommand({ TopicArn: topicArn, PublishBatchRequestEntries }), sendOptions),
    },
    rest,
  );
}
