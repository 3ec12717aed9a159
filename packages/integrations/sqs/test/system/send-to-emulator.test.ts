/** The SDK's own client against an emulator of the SQS protocol. */
import { SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type SqsEmulator, startSqsEmulator } from '../../../../../scripts/services/sqs-emulator.js';
import { sendBatcher } from '../../src/index.js';
import { outcomes } from '../support/outcomes.js';

let emulator: SqsEmulator;
let client: SQSClient;
let queues = 0;

beforeAll(async () => {
  emulator = await startSqsEmulator();
  client = new SQSClient({ ...emulator.clientConfig, maxAttempts: 1 });
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

function newQueue(suffix = '') {
  queues += 1;
  return emulator.createQueue(`queue-${queues}${suffix}`);
}

const texts = (count: number) => Array.from({ length: count }, (_, index) => `message ${index}`);

test('each caller gets the id of its own message', async () => {
  const queue = newQueue();
  await using batcher = sendBatcher(client, { queueUrl: queue.url });
  const sent = await Promise.all(texts(25).map((body) => batcher.submit({ body })));
  const bodies = new Map(queue.messages.map(({ id, body }) => [id, body]));
  expect(sent.map(({ messageId }) => bodies.get(messageId))).toEqual(texts(25));
  expect(emulator.inputs('SendMessageBatch')).toHaveLength(3);
});

test('attributes arrive, text and binary', async () => {
  const queue = newQueue();
  await using batcher = sendBatcher(client, { queueUrl: queue.url });
  const attributes = {
    kind: { DataType: 'String', StringValue: 'new' },
    bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([1, 2, 3]) },
  };
  await batcher.submit({ body: 'x', attributes });
  expect(queue.messages[0]?.attributes).toEqual({
    kind: { DataType: 'String', StringValue: 'new' },
    bytes: { DataType: 'Binary', BinaryValue: 'AQID' },
  });
});

test('an entry that fails fails its own message, with the reason that SQS gives', async () => {
  const queue = newQueue();
  emulator.failEntry = (_, { MessageBody }) => {
    if (MessageBody === 'message 3')
      return { Code: 'InvalidMessageContents', Message: 'Bad.', SenderFault: true };
    if (MessageBody === 'message 5') return { Code: 'InternalError', Message: 'Oops.', SenderFault: false };
    if (MessageBody === 'message 7') return { Code: 'RequestThrottled', Message: 'Slow.', SenderFault: true };
    return undefined;
  };
  await using batcher = sendBatcher(client, { queueUrl: queue.url });
  const calls = texts(8).map((body) => batcher.submit({ body }).catch((error: unknown) => error));
  const results = await Promise.all(calls);
  expect(results[3]).toMatchObject({
    code: 'INVALID_ITEM',
    message: 'SendMessageBatch: InvalidMessageContents: Bad.',
    cause: { Code: 'InvalidMessageContents', SenderFault: true },
  });
  expect(results[5]).toMatchObject({
    code: 'UNAVAILABLE',
    retryable: true,
    cause: { Code: 'InternalError' },
  });
  expect(results[7]).toMatchObject({ code: 'OVERLOADED', retryable: true, retryAfterMs: 1000 });
  expect(queue.bodies).toEqual(texts(8).filter((_, index) => ![3, 5, 7].includes(index)));
});

test('a request that SQS rejects because of one message is split until only that one fails', async () => {
  const queue = newQueue();
  emulator.intercept = ({ input }) =>
    input.Entries.some(({ MessageBody }) => MessageBody === 'message 6')
      ? { status: 400, type: 'InvalidParameterValue', message: 'One of them is bad.' }
      : undefined;
  await using batcher = sendBatcher(client, { queueUrl: queue.url });
  const results = await outcomes(texts(10).map((body) => batcher.submit({ body })));
  expect(results.filter((result) => typeof result === 'string')).toEqual(['INVALID_ITEM']);
  expect(results[6]).toBe('INVALID_ITEM');
  expect([...queue.bodies].sort()).toEqual(texts(10).filter((_, index) => index !== 6));
});

test.each([
  ['a lost connection', 'cut' as const, 'UNAVAILABLE'],
  ['a failure of SQS', { status: 503, type: 'ServiceUnavailable', message: 'Later.' }, 'UNAVAILABLE'],
  ['a throttled request', { status: 400, type: 'RequestThrottled', message: 'Slow down.' }, 'OVERLOADED'],
  [
    'a missing queue',
    { status: 400, type: 'QueueDoesNotExist', message: 'No such queue.' },
    'QueueDoesNotExist: No such queue.',
  ],
])('%s fails all callers after one request', async (_, failure, expected) => {
  const queue = newQueue();
  emulator.intercept = () => failure;
  await using batcher = sendBatcher(client, { queueUrl: queue.url });
  const results = await outcomes(texts(10).map((body) => batcher.submit({ body })));
  expect(results).toEqual(texts(10).map(() => expected));
  expect(emulator.requests).toHaveLength(1);
});

test('a FIFO queue gets the messages of a group in order, and drops duplicates', async () => {
  const queue = newQueue('.fifo');
  await using batcher = sendBatcher(client, { queueUrl: queue.url, maxBatchSize: 3 });
  const sent = await Promise.all(
    texts(30).map((body, index) =>
      batcher.submit({
        body,
        groupId: `group ${index % 2}`.replace(' ', '-'),
        deduplicationId: `${index % 20}`,
      }),
    ),
  );
  expect(sent.every(({ sequenceNumber }) => sequenceNumber !== undefined)).toBe(true);
  for (const group of ['group-0', 'group-1']) {
    const bodies = queue.messages.filter(({ groupId }) => groupId === group).map(({ body }) => body);
    const expected = texts(20).filter((_, index) => `group-${index % 2}` === group);
    expect(bodies).toEqual(expected);
  }
  expect(sent[25]).toEqual(sent[5]);
});

test('a batch of 1 MiB is accepted when maxBatchBytes allows it', async () => {
  const queue = newQueue();
  await using batcher = sendBatcher(client, { queueUrl: queue.url, maxBatchBytes: 1024 * 1024 });
  const body = 'x'.repeat(256 * 1024);
  await Promise.all(Array.from({ length: 4 }, () => batcher.submit({ body })));
  expect(emulator.requests).toHaveLength(1);
  expect(queue.messages).toHaveLength(4);
});
