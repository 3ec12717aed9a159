/** Messages to a durable queue of RabbitMQ: a publish that waits for its confirm, and the same through the batcher. */
import type { Figure } from '@batchwise/bench-harness';
import { publishBatcher } from '@batchwise/rabbitmq';
import { connect } from 'amqplib';
import { startRabbitMq } from '../../../scripts/services/rabbitmq.js';
import { oneByOne } from './one-by-one.js';

const QUEUE = 'bench';
const content = Buffer.alloc(256, 'x');
const options = { persistent: true };

export const rabbitmq: Figure = oneByOne({
  name: 'rabbitmq',
  item: 'publish of one persistent message of 256 bytes, confirmed',
  notes: [
    'AMQP has no command for several messages: expect about 1. The batcher adds limits, deadlines and back-pressure.',
  ],
  async start() {
    const broker = await startRabbitMq();
    const connection = await connect(broker.url);
    const channel = await connection.createConfirmChannel();
    // The queue keeps no more than this, so that a long run does not fill the memory of the broker.
    await channel.assertQueue(QUEUE, { durable: true, maxLength: 10_000 });
    const batcher = publishBatcher(await connection.createConfirmChannel());
    return {
      single: () =>
        new Promise<void>((resolve, reject) => {
          channel.sendToQueue(QUEUE, content, options, (error) =>
            error === null ? resolve() : reject(error),
          );
        }),
      batched: () => batcher.submit({ routingKey: QUEUE, content, options }),
      async close() {
        await batcher.close();
        await connection.close();
        await broker.stop();
      },
    };
  },
});
