import * as clientModule from '@aws-sdk/client-sqs';
import * as module from '@batchwise/sqs';
import { expect, onTestFinished, test } from 'vitest';
import { startSqsEmulator } from '../../../../../scripts/services/sqs-emulator.js';
import { readmeProgram } from '../../../fetch/test/readme-program.js';

test('the program of the README prints what it says', async () => {
  const { expected, run } = readmeProgram(new URL('../../README.md', import.meta.url));
  const emulator = await startSqsEmulator();
  onTestFinished(() => emulator.close());
  const queue = emulator.createQueue('orders');
  const replaced = {
    'SQSClient({})': `SQSClient(${JSON.stringify(emulator.clientConfig)})`,
    'process.env': JSON.stringify({ QUEUE_URL: queue.url }),
  };
  const modules = { '@aws-sdk/client-sqs': clientModule, '@batchwise/sqs': module };
  expect(await run(modules, replaced)).toBe(expected);
  expect(emulator.requests).toHaveLength(1);
});
