/**
 * Single messages to RabbitMQ, published in batches with confirms; deliveries handled in batches, each acknowledged
 * by its own result.
 *
 *     import { consume, publishBatcher } from '@batchwise/rabbitmq';
 *     import { connect } from 'amqplib';
 *
 *     const connection = await connect('amqp://localhost');
 *     const channel = await connection.createConfirmChannel();
 *     await channel.assertQueue('mail');
 *
 *     const publisher = publishBatcher(channel);
 *     await publisher.submit({ routingKey: 'mail', content: 'hello' }); // the broker has confirmed it
 *
 *     const consumer = await consume(channel, 'mail', async (messages) => {
 *       return messages.map(({ content }) => (content.length > 0 ? 'sent' : new Error('empty')));
 *     });
 *     await consumer.close();
 *     await publisher.close();
 *     await connection.close();
 */

export { type ConsumeHandler, type ConsumeOptions, type Consumer, consume } from './consume.js';
export { type OutgoingMessage, type PublishOptions, publishBatcher } from './publish-batcher.js';
