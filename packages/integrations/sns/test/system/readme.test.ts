import * as clientModule from '@aws-sdk/client-sns';
import * as module from '@batchwise/sns';
import { expect, onTestFinished, test } from 'vitest';
import { startSnsEmulator } from '../../../../../scripts/services/sns-emulator.js';
import { readmeProgram } from '../../../fetch/test/readme-program.js';

test('the program of the README prints what it says', async () => {
  const { expected, run } = readmeProgram(new URL('../../README.md', import.meta.url));
  const emulator = await startSnsEmulator();
  onTestFinished(() => emulator.close());
  const topicArn = emulator.createTopic('orders');
  const replaced = {
    'SNSClient({})': `SNSClient(${JSON.stringify(emulator.clientConfig)})`,
    'process.env': JSON.stringify({ TOPIC_ARN: topicArn }),
  };
  expect(await run({ '@aws-sdk/client-sns': clientModule, '@batchwise/sns': module }, replaced)).toBe(
    expected,
  );
  expect(emulator.requests).toHaveLength(1);
});
