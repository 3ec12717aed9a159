/** Messages of some hundred bytes to SQS (an emulator in this process). */
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { sendBatcher } from '@batchwise/sqs';
import { startSqsEmulator } from '../../../scripts/services/sqs-emulator.js';
import { oneByOne } from './one-by-one.js';

const bodyOf = (index: number) => JSON.stringify({ order: index, note: 'x'.repeat(200) });

export const sqsSend = oneByOne({
  name: 'sqs-send',
  item: 'message to SQS',
  notes: ['against an emulator in the same process, not against AWS'],
  async start() {
    const emulator = await startSqsEmulator();
    const client = new SQSClient(emulator.clientConfig);
    const queue = emulator.createQueue('orders');
    const messages = sendBatcher(client, { queueUrl: queue.url });
    /** The emulator remembers everything: what was measured is forgotten from time to time. */
    const forget = (index: number) => {
      if (index % 1000 > 0) return;
      emulator.requests = [];
      queue.messages = [];
    };
    return {
      single(index) {
        forget(index);
        return client.send(new SendMessageCommand({ QueueUrl: queue.url, MessageBody: bodyOf(index) }));
      },
      batched(index) {
        forget(index);
        return messages.submit({ body: bodyOf(index) });
      },
      async close() {
        await messages.close();
        client.destroy();
        await emulator.close();
      },
    };
  },
});
