/** The SDK's own client against an emulator of the SNS protocol. */
import { SNSClient } from '@aws-sdk/client-sns';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type SnsEmulator, startSnsEmulator } from '../../../../../scripts/services/sns-emulator.js';
import { publishBatcher } from '../../src/index.js';
import { outcomes } from '../support/outcomes.js';

let emulator: SnsEmulator;
let client: SNSClient;
let topics = 0;

beforeAll(async () => {
  emulator = await startSnsEmulator();
  client = new SNSClient({ ...emulator.clientConfig, maxAttempts: 1 });
});

afterAll(async () => {
  client?.destroy();
  await emulator?.close();
});

beforeEach(() => {
  emulator.requests = [];
  emulator.intercept = () => undefined;
  emulator.failEntry = () => undefined;
});

function newTopic(suffix = '') {
  topics += 1;
  return emulator.createTopic(`topic-${topics}${suffix}`);
}

const texts = (count: number) => Array.from({ length: count }, (_, index) => `message ${index} & <more>`);
const sentTo = (topicArn: string) => emulator.published(topicArn).map(({ message }) => message);

test('each caller gets the id of its own message', async () => {
  const topicArn = newTopic();
  await using batcher = publishBatcher(client, { topicArn });
  const sent = await Promise.all(texts(25).map((message) => batcher.submit({ message })));
  const messages = new Map(emulator.published(topicArn).map(({ id, message }) => [id, message]));
  expect(sent.map(({ messageId }) => messages.get(messageId))).toEqual(texts(25));
  expect(emulator.requests.map(({ entries }) => entries.length)).toEqual([10, 10, 5]);
});

test('attributes and subject arrive', async () => {
  const topicArn = newTopic();
  await using batcher = publishBatcher(client, { topicArn });
  const attributes = {
    kind: { DataType: 'String', StringValue: 'new' },
    bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2, 3]) },
  };
  await batcher.submit({ message: 'x', subject: 'Hello', attributes });
  expect(emulator.published(topicArn)[0]?.entry).toMatchObject({
    Subject: 'Hello',
    'MessageAttributes.entry.1.Name': 'kind',
    'MessageAttributes.entry.1.Value.StringValue': 'new',
    'MessageAttributes.entry.2.Value.BinaryValue': 'AQID',
  });
});

test('an entry that fails fails its own message, with the reason that SNS gives', async () => {
  const topicArn = newTopic();
  emulator.failEntry = ({ Id }) => {
    if (Id === '3') return { Code: 'InvalidParameter', Message: 'Bad & wrong.', SenderFault: true };
    if (Id === '5') return { Code: 'InternalError', Message: 'Oops.', SenderFault: false };
    return undefined;
  };
  await using batcher = publishBatcher(client, { topicArn });
  const calls = texts(8).map((message) => batcher.submit({ message }).catch((error: unknown) => error));
  const results = await Promise.all(calls);
  expect(results[3]).toMatchObject({
    code: 'INVALID_ITEM',
    message: 'PublishBatch: InvalidParameter: Bad & wrong.',
    cause: { Code: 'InvalidParameter', SenderFault: true },
  });
  expect(results[5]).toMatchObject({
    code: 'UNAVAILABLE',
    retryable: true,
    cause: { Code: 'InternalError' },
  });
  expect(sentTo(topicArn)).toEqual(texts(8).filter((_, index) => index !== 3 && index !== 5));
});

test('a request that SNS rejects because of one message is split until only that one fails', async () => {
  const topicArn = newTopic();
  const [bad] = texts(7).slice(6);
  emulator.intercept = ({ entries }) =>
    entries.some(({ Message }) => Message === bad)
      ? { status: 400, type: 'InvalidParameter', message: 'One of them is bad.' }
      : undefined;
  await using batcher = publishBatcher(client, { topicArn });
  const results = await outcomes(texts(10).map((message) => batcher.submit({ message })));
  expect(results.filter((result) => typeof result === 'string')).toEqual(['INVALID_ITEM']);
  expect(results[6]).toBe('INVALID_ITEM');
  expect([...sentTo(topicArn)].sort()).toEqual(texts(10).filter((_, index) => index !== 6));
});

test.each([
  ['a lost connection', 'cut' as const, /^UNAVAILABLE$/],
  ['a failure of SNS', { status: 500, type: 'InternalError', message: 'Later.' }, /^UNAVAILABLE$/],
  ['a throttled request', { status: 400, type: 'Throttled', message: 'Slow down.' }, /^OVERLOADED$/],
  [
    'a missing topic',
    { status: 404, type: 'NotFound', message: 'No such topic.' },
    /NotFound.*No such topic/,
  ],
])('%s fails all callers after one request', async (_, failure, expected) => {
  const topicArn = newTopic();
  emulator.intercept = () => failure;
  await using batcher = publishBatcher(client, { topicArn });
  const results = await outcomes(texts(10).map((message) => batcher.submit({ message })));
  for (const result of results) expect(result).toMatch(expected);
  expect(emulator.requests).toHaveLength(1);
});

test('a FIFO topic gets the messages of a group in order', async () => {
  const topicArn = newTopic('.fifo');
  await using batcher = publishBatcher(client, { topicArn, maxBatchSize: 3 });
  const sent = await Promise.all(
    texts(30).map((message, index) => batcher.submit({ message, groupId: `group-${index % 2}` })),
  );
  expect(sent.every(({ sequenceNumber }) => sequenceNumber !== undefined)).toBe(true);
  for (const group of ['group-0', 'group-1']) {
    const ofGroup = emulator.published(topicArn).filter(({ entry }) => entry.MessageGroupId === group);
    const expected = texts(30).filter((_, index) => `group-${index % 2}` === group);
    expect(ofGroup.map(({ message }) => message)).toEqual(expected);
  }
});
