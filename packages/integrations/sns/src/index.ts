/**
 * Single messages to Amazon SNS, published in batches of ten.
 *
 *     import { SNSClient } from '@aws-sdk/client-sns';
 *     import { publishBatcher } from '@batchwise/sns';
 *
 *     const orders = publishBatcher(new SNSClient({}), { topicArn: process.env.TOPIC_ARN });
 *     const { messageId } = await orders.submit({ message: JSON.stringify({ order: 7 }) });
 *     await orders.close();
 */

export { type PublishBatcherOptions, type PublishedMessage, publishBatcher } from './publish-batcher.js';
export type { TopicMessage } from './topic-message.js';
