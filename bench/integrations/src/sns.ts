/** Messages of some hundred bytes to SNS (an emulator in this process). */
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns';
import { publishBatcher } from '@batchwise/sns';
import { startSnsEmulator } from '../../../scripts/services/sns-emulator.js';
import { oneByOne } from './one-by-one.js';

const textOf = (index: number) => JSON.stringify({ order: index, note: 'x'.repeat(200) });

export const snsPublish = oneByOne({
  name: 'sns-publish',
  item: 'message to SNS',
  notes: ['against an emulator in the same process, not against AWS'],
  async start() {
    const emulator = await startSnsEmulator();
    const client = new SNSClient(emulator.clientConfig);
    const topicArn = emulator.createTopic('orders');
    const messages = publishBatcher(client, { topicArn });
    /** The emulator remembers everything: what was measured is forgotten from time to time. */
    const forget = (index: number) => {
      if (index % 1000 > 0) return;
      emulator.requests = [];
      emulator.published(topicArn).length = 0;
    };
    return {
      single(index) {
        forget(index);
        return client.send(new PublishCommand({ TopicArn: topicArn, Message: textOf(index) }));
      },
      batched(index) {
        forget(index);
        return messages.submit({ message: textOf(index) });
      },
      async close() {
        await messages.close();
        client.destroy();
        await emulator.close();
      },
    };
  },
});
