/**
 * Single messages to and from Amazon SQS, batched in tens.
 *
 *     import { SQSClient } from '@aws-sdk/client-sqs';
 *     import { consume, sendBatcher } from '@batchwise/sqs';
 *
 *     const client = new SQSClient({});
 *     const queueUrl = process.env.QUEUE_URL;
 *
 *     const orders = sendBatcher(client, { queueUrl });
 *     const { messageId } = await orders.submit({ body: JSON.stringify({ order: 7 }) });
 *
 *     const consumer = consume(client, { queueUrl }, (messages) =>
 *       messages.map(({ Body }) => (Body === 'bad' ? new Error('try again') : undefined)),
 *     );
 *     await Promise.all([orders.close(), consumer.close()]);
 */

export { type ConsumeHandler, type ConsumeOptions, type Consumer, consume } from './consume.js';
export type { OutgoingMessage } from './outgoing-message.js';
export { type SendBatcherOptions, type SentMessage, sendBatcher } from './send-batcher.js';
