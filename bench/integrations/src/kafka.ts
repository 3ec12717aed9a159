/** Messages to a topic of Kafka: one `send()` for each, and the same through the batcher. */
import type { Figure } from '@batchwise/bench-harness';
import { publishBatcher, trackPartitions } from '@batchwise/kafka';
import { Kafka, logLevel, Partitioners } from 'kafkajs';
import { startKafka } from '../../../scripts/services/kafka.js';
import { oneByOne } from './one-by-one.js';

const TOPIC = 'bench';
const value = Buffer.alloc(256, 'x');

export const kafka: Figure = oneByOne({
  name: 'kafka',
  item: 'publish of one message of 256 bytes, acknowledged',
  notes: ['One broker in a Java process of its own (needs Java and Maven), a topic with 3 partitions.'],
  async start() {
    const server = await startKafka();
    const client = new Kafka({ brokers: [server.broker], logLevel: logLevel.ERROR });
    const admin = client.admin();
    await admin.connect();
    await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 3 }], waitForLeaders: true });
    await admin.disconnect();
    const producer = client.producer({ createPartitioner: trackPartitions(Partitioners.DefaultPartitioner) });
    await producer.connect();
    const batcher = publishBatcher(producer, { topic: TOPIC });
    return {
      single: (index) => producer.send({ topic: TOPIC, messages: [{ key: String(index), value }] }),
      batched: (index) => batcher.submit({ key: String(index), value }),
      async close() {
        await batcher.close();
        await producer.disconnect();
        await server.stop();
      },
    };
  },
});
