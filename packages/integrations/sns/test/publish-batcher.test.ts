import { PublishBatchCommand, type PublishBatchRequestEntry, type SNSClient } from '@aws-sdk/client-sns';
import { BatchwiseError, VirtualClock, window } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type PublishBatcherOptions, publishBatcher, type TopicMessage } from '../src/index.js';
import { outcomes } from './support/outcomes.js';

/** A client in virtual time, whose requests take as long as a test says. */
function scripted(
  options: Partial<PublishBatcherOptions> = {},
  delayMs: (request: number) => number = () => 0,
) {
  const clock = new VirtualClock();
  const requests: PublishBatchRequestEntry[][] = [];
  /** Texts in the order in which SNS has stored them. */
  const stored: string[] = [];
  const send = async (command: unknown, { abortSignal }: { abortSignal: AbortSignal }) => {
    if (!(command instanceof PublishBatchCommand)) throw new Error('The test knows PublishBatch only.');
    const entries = command.input.PublishBatchRequestEntries ?? [];
    const takesMs = delayMs(requests.length);
    requests.push(entries);
    await new Promise<void>((resolve) => clock.setTimer(resolve, takesMs));
    if (abortSignal.aborted) throw new Error('aborted');
    stored.push(...entries.map(({ Message = '' }) => Message));
    const answered = entries.filter(({ Message }) => Message !== 'lost');
    return {
      Successful: answered.reverse().map(({ Id, Message }) => ({ Id, MessageId: `id of ${Message}` })),
    };
  };
  const topicArn = 'arn:aws:sns:local:000000000000:orders';
  const batcher = publishBatcher({ send } as unknown as SNSClient, { topicArn, clock, ...options });
  const texts = () => requests.map((entries) => entries.map(({ Message }) => Message));
  return { clock, batcher, requests, texts, stored };
}

const fifo = { topicArn: 'arn:aws:sns:local:000000000000:orders.fifo' };
const KiB = 1024;

test('ten messages share a request, and each caller gets the id of its own', async () => {
  const { clock, batcher, texts } = scripted();
  const names = Array.from({ length: 12 }, (_, index) => `message ${index}`);
  const answers = outcomes(names.map((message) => batcher.submit({ message })));
  await clock.advance(10);
  expect(await answers).toEqual(names.map((message) => ({ messageId: `id of ${message}` })));
  expect(texts().map(({ length }) => length)).toEqual([10, 2]);
});

test('requests keep to 256 KiB, attributes included, unless maxBatchBytes says otherwise', async () => {
  const message = 'x'.repeat(60 * KiB);
  const attributes = { filler: { DataType: 'Binary', BinaryValue: new Uint8Array(68 * KiB - 12) } };
  for (const [maxBatchBytes, sizes] of [
    [undefined, [2, 2, 2]],
    [1024 * KiB, [6]],
  ] as const) {
    const { clock, batcher, texts } = scripted({ maxBatchBytes });
    const answers = outcomes(Array.from({ length: 6 }, () => batcher.submit({ message, attributes })));
    await clock.advance(10);
    expect(await answers).toHaveLength(6);
    expect(texts().map(({ length }) => length)).toEqual(sizes);
  }
});

test('no request is larger than allowed, whatever the sizes of the messages', async () => {
  const maxBatchBytes = 1000;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 1100 }), { maxLength: 40 }),
      fc.integer({ min: 1, max: 10 }),
      async (lengths, maxBatchSize) => {
        const { clock, batcher, texts } = scripted({ maxBatchBytes, maxBatchSize });
        const answers = outcomes(lengths.map((length) => batcher.submit({ message: 'm'.repeat(length) })));
        await clock.advance(1000);
        const results = await answers;
        for (const [index, length] of lengths.entries()) {
          if (length > maxBatchBytes) expect(results[index]).toBe('INVALID_ITEM');
          else expect(results[index]).toHaveProperty('messageId');
        }
        for (const request of texts()) {
          expect(request.length).toBeLessThanOrEqual(maxBatchSize);
          expect(request.join('').length).toBeLessThanOrEqual(maxBatchBytes);
        }
      },
    ),
    { numRuns: 50 },
  );
});

test('all fields of a message arrive', async () => {
  const { clock, batcher, requests } = scripted(fifo);
  const attributes = { kind: { DataType: 'String', StringValue: 'new' } };
  const message = JSON.stringify({ default: 'hello' });
  const sent = batcher.submit({
    message,
    subject: 'Greeting',
    structure: 'json',
    attributes,
    groupId: 'g',
    deduplicationId: 'd',
  });
  await clock.advance(1);
  await sent;
  expect(requests).toEqual([
    [
      {
        Id: '0',
        Message: message,
        Subject: 'Greeting',
        MessageStructure: 'json',
        MessageAttributes: attributes,
        MessageGroupId: 'g',
        MessageDeduplicationId: 'd',
      },
    ],
  ]);
});

test.each([
  [{ message: '' }, /message: expected a string that is not empty, got ''/],
  [{ body: 'x' }, /message: expected a string that is not empty, got undefined/],
  [{ message: 'x', subject: 's'.repeat(101) }, /subject: expected 1 to 100 characters, got 101/],
  [{ message: 'x', structure: 'xml' }, /structure: expected 'json', got "xml"/],
  [{ message: 'x', structure: 'json' }, /expected a JSON object with a text as 'default'/],
  [{ message: '{"sms":"x"}', structure: 'json' }, /expected a JSON object with a text as 'default'/],
  [{ message: 'null', structure: 'json' }, /expected a JSON object with a text as 'default'/],
  [{ message: 'x', groupId: '' }, /groupId: expected 1 to 128 letters/],
  [{ message: 'x', deduplicationId: 'd' }, /deduplicationId: only for FIFO topics/],
  [{ message: 'x', attributes: { a: { DataType: 'String' } } }, /attributes.a: expected \{ DataType/],
  [
    { message: 'x'.repeat(262_145) },
    /the message has 262145 bytes with its attributes; maxBatchBytes is 262144/,
  ],
  [undefined, /expected a message/],
])('the invalid message %# fails at its caller and is never sent', async (message, text) => {
  const { clock, batcher, texts } = scripted();
  const invalid = batcher.submit(message as never).catch((error: unknown) => error);
  const valid = batcher.submit({ message: 'valid' });
  await clock.advance(1);
  expect(await invalid).toBeInstanceOf(BatchwiseError);
  expect(await invalid).toMatchObject({ code: 'INVALID_ITEM', message: expect.stringMatching(text) });
  expect(await valid).toEqual({ messageId: 'id of valid' });
  expect(texts()).toEqual([['valid']]);
});

test('a FIFO topic requires a group', async () => {
  const { clock, batcher, requests } = scripted(fifo);
  const answers = outcomes([batcher.submit({ message: 'x' })]);
  await clock.advance(1);
  expect(await answers).toEqual(['INVALID_ITEM']);
  expect(requests).toEqual([]);
});

test('a message that the answer does not mention fails', async () => {
  const { clock, batcher } = scripted();
  const answers = outcomes(['kept', 'lost'].map((message) => batcher.submit({ message })));
  await clock.advance(1);
  expect(await answers).toEqual([{ messageId: 'id of kept' }, 'BAD_RESULT']);
});

test('the messages of a group stay in order while several requests are in flight', async () => {
  const submission = fc.record({
    group: fc.constantFrom('a', 'b', 'c'),
    pauseMs: fc.constantFrom(0, 0, 0, 1, 5),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(submission, { maxLength: 60 }),
      fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 30 }),
      fc.integer({ min: 1, max: 4 }),
      async (submissions, delays, maxBatchSize) => {
        const options = { ...fifo, maxBatchSize, policy: window({ maxWaitMs: 2 }), concurrency: 5 };
        const { clock, batcher, stored } = scripted(options, (request) => delays[request] ?? 0);
        const answers: Promise<unknown[]>[] = [];
        for (const [index, { group, pauseMs }] of submissions.entries()) {
          const message: TopicMessage = { message: `${group} ${index}`, groupId: group };
          answers.push(outcomes([batcher.submit(message)]));
          if (pauseMs > 0) await clock.advance(pauseMs);
        }
        await clock.advance(10_000);
        await Promise.all(answers);
        for (const group of ['a', 'b', 'c']) {
          const numbers = stored
            .filter((text) => text.startsWith(group))
            .map((text) => Number(text.slice(2)));
          expect(numbers).toEqual([...numbers].sort((left, right) => left - right));
        }
        expect(stored).toHaveLength(submissions.length);
      },
    ),
    { numRuns: 60 },
  );
});

test('a message whose caller gives up while its group is busy is not published', async () => {
  const options = { ...fifo, concurrency: 2, policy: window({ maxWaitMs: 1 }) };
  const { clock, batcher, stored } = scripted(options, () => 100);
  const first = batcher.submit({ message: 'first', groupId: 'a' });
  await clock.advance(1);
  const late = outcomes([batcher.submit({ message: 'late', groupId: 'a' }, { timeoutMs: 50 })]);
  const patient = batcher.submit({ message: 'patient', groupId: 'a' });
  await clock.advance(300);
  expect(await first).toEqual({ messageId: 'id of first' });
  expect(await late).toEqual(['DEADLINE_EXCEEDED']);
  expect(await patient).toEqual({ messageId: 'id of patient' });
  expect(stored).toEqual(['first', 'patient']);
});

test.each([
  [{ maxBatchSize: 11 }, /maxBatchSize: expected a whole number from 1 to 10, got 11/],
  [{ maxBatchBytes: 0 }, /maxBatchBytes: expected a whole number from 1 to 1048576, got 0/],
  [{ topicArn: 'orders' }, /topicArn: expected the ARN of a topic, got "orders"/],
  [{ costOf: () => 1 }, /costOf/],
  [{ topicARN: 'x' }, /unknown option "topicARN"/],
])('the option %o is rejected', (options, message) => {
  expect(() => scripted(options as never)).toThrow(message);
});
