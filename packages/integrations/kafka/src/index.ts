/**
 * Single messages to Kafka, sent in batches with a result each; consumed messages handled in batches, offsets
 * committed only for what succeeded.
 *
 *     import { consume, publishBatcher, trackPartitions } from '@batchwise/kafka';
 *     import { Kafka, Partitioners } from 'kafkajs';
 *
 *     const kafka = new Kafka({ brokers: ['localhost:9092'] });
 *     const producer = kafka.producer({ createPartitioner: trackPartitions(Partitioners.DefaultPartitioner) });
 *     await producer.connect();
 *
 *     const orders = publishBatcher(producer, { topic: 'orders' });
 *     const { partition, offset } = await orders.submit({ key: 'ada', value: 'one book' });
 *
 *     const group = kafka.consumer({ groupId: 'shipping' });
 *     await group.connect();
 *     const consumer = await consume(group, ['orders'], async (received) => {
 *       return received.map(({ message }) => (message.value === null ? new Error('empty') : 'shipped'));
 *     });
 *     await consumer.close();
 *     await orders.close();
 *     await Promise.all([group.disconnect(), producer.disconnect()]);
 */

export { type BatchConsumer, type ConsumeHandler, type ConsumeOptions, consume } from './consume.js';
export type { ReceivedMessage } from './partition-run.js';
export {
  type OutgoingMessage,
  type Published,
  type PublishOptions,
  publishBatcher,
} from './publish-batcher.js';
export { trackPartitions } from './track-partitions.js';
