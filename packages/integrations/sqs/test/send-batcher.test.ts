import {
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { BatchwiseError, VirtualClock, window } from 'batchwise';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type OutgoingMessage, type SendBatcherOptions, sendBatcher } from '../src/index.js';
import { outcomes } from './support/outcomes.js';

interface Plan {
  readonly delayMs?: number;
  readonly error?: Error;
  /** Entries, by body, that are left out of the answer. */
  readonly omitted?: readonly string[];
}

/** A client in virtual time: a test decides what each request does. */
function scripted(
  options: Partial<SendBatcherOptions> = {},
  plan: (bodies: string[], request: number) => Plan = () => ({}),
) {
  const clock = new VirtualClock();
  const requests: SendMessageBatchRequestEntry[][] = [];
  /** Bodies in the order in which SQS has stored them. */
  const stored: string[] = [];
  const send = async (command: unknown, { abortSignal }: { abortSignal: AbortSignal }) => {
    if (!(command instanceof SendMessageBatchCommand))
      throw new Error('The test knows SendMessageBatch only.');
    const entries = command.input.Entries ?? [];
    const bodies = entries.map(({ MessageBody = '' }) => MessageBody);
    const { delayMs = 0, error, omitted = [] } = plan(bodies, requests.length);
    requests.push(entries);
    await new Promise<void>((resolve) => clock.setTimer(resolve, delayMs));
    if (abortSignal.aborted) throw new Error('aborted');
    if (error !== undefined) throw error;
    stored.push(...bodies);
    const answered = entries.filter(({ MessageBody = '' }) => !omitted.includes(MessageBody));
    return {
      Successful: answered
        .reverse()
        .map(({ Id, MessageBody }) => ({ Id, MessageId: `id of ${MessageBody}` })),
    };
  };
  const batcher = sendBatcher({ send } as unknown as SQSClient, {
    queueUrl: 'http://localhost/000000000000/orders',
    clock,
    ...options,
  });
  const bodies = () => requests.map((entries) => entries.map(({ MessageBody }) => MessageBody));
  return { clock, batcher, requests, bodies, stored };
}

const fifo = { queueUrl: 'http://localhost/000000000000/orders.fifo' };
const KiB = 1024;

test('ten messages share a request, and each caller gets the id of its own', async () => {
  const { clock, batcher, bodies } = scripted();
  const names = Array.from({ length: 12 }, (_, index) => `message ${index}`);
  const answers = outcomes(names.map((body) => batcher.submit({ body })));
  await clock.advance(10);
  expect(await answers).toEqual(names.map((body) => ({ messageId: `id of ${body}` })));
  expect(bodies().map(({ length }) => length)).toEqual([10, 2]);
});

test('requests keep to 256 KiB unless maxBatchBytes says otherwise', async () => {
  const body = 'x'.repeat(100 * KiB);
  for (const [maxBatchBytes, sizes] of [
    [undefined, [2, 2, 2]],
    [1024 * KiB, [6]],
  ] as const) {
    const { clock, batcher, bodies } = scripted({ maxBatchBytes });
    const answers = outcomes(Array.from({ length: 6 }, () => batcher.submit({ body })));
    await clock.advance(10);
    expect(await answers).toHaveLength(6);
    expect(bodies().map(({ length }) => length)).toEqual(sizes);
  }
});

test('no request is larger than allowed, whatever the sizes of the messages', async () => {
  const maxBatchBytes = 1000;
  const message = fc.record({
    length: fc.integer({ min: 1, max: 1000 }),
    attribute: fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined }),
    isBinary: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { maxLength: 40 }),
      fc.integer({ min: 1, max: 10 }),
      async (messages, maxBatchSize) => {
        const { clock, batcher, requests } = scripted({ maxBatchBytes, maxBatchSize });
        const outgoing = messages.map(({ length, attribute, isBinary }): OutgoingMessage => {
          const value = 'v'.repeat(attribute ?? 0);
          const attributes = {
            é: isBinary
              ? { DataType: 'Binary', BinaryValue: Buffer.from(value) }
              : { DataType: 'String', StringValue: value },
          };
          return attribute === undefined
            ? { body: 'b'.repeat(length) }
            : { body: 'b'.repeat(length), attributes };
        });
        const answers = outcomes(outgoing.map((each) => batcher.submit(each)));
        await clock.advance(1000);
        const sizes = messages.map(
          ({ length, attribute }) => length + (attribute === undefined ? 0 : attribute + 2 + 6),
        );
        const results = await answers;
        for (const [index, size] of sizes.entries()) {
          if (size > maxBatchBytes) expect(results[index]).toBe('INVALID_ITEM');
          else expect(results[index]).toHaveProperty('messageId');
        }
        for (const entries of requests) {
          expect(entries.length).toBeLessThanOrEqual(maxBatchSize);
          expect(entries.reduce((sum, entry) => sum + wireBytes(entry), 0)).toBeLessThanOrEqual(
            maxBatchBytes,
          );
        }
      },
    ),
    { numRuns: 50 },
  );
});

function wireBytes({ MessageBody = '', MessageAttributes = {} }: SendMessageBatchRequestEntry): number {
  let bytes = Buffer.byteLength(MessageBody);
  for (const [name, { DataType = '', StringValue, BinaryValue }] of Object.entries(MessageAttributes)) {
    bytes += Buffer.byteLength(name + DataType + (StringValue ?? '')) + (BinaryValue?.length ?? 0);
  }
  return bytes;
}

test('all fields of a message arrive', async () => {
  const { clock, batcher, requests } = scripted();
  const attributes = { kind: { DataType: 'String', StringValue: 'new' } };
  const plain = batcher.submit({ body: 'late', delaySeconds: 5, attributes, groupId: 'tenant' });
  await clock.advance(1);
  await plain;
  expect(requests).toEqual([
    [
      {
        Id: '0',
        MessageBody: 'late',
        DelaySeconds: 5,
        MessageAttributes: attributes,
        MessageGroupId: 'tenant',
      },
    ],
  ]);
  const ordered = scripted(fifo);
  const sent = ordered.batcher.submit({ body: 'first', groupId: 'g', deduplicationId: 'd' });
  await ordered.clock.advance(1);
  await sent;
  expect(ordered.requests).toEqual([
    [{ Id: '0', MessageBody: 'first', MessageGroupId: 'g', MessageDeduplicationId: 'd' }],
  ]);
});

test.each([
  [{ body: '' }, /body: expected a string that is not empty, got ''/],
  [{ body: 7 }, /body: expected a string that is not empty, got number/],
  [{ body: 'bell \u0007' }, /body: SQS does not accept the character U\+0007/],
  [{ body: 'half \ud800 pair' }, /U\+d800/],
  [{ body: 'x', delaySeconds: 901 }, /delaySeconds: expected a whole number from 0 to 900, got 901/],
  [{ body: 'x', groupId: 'with space' }, /groupId: expected 1 to 128 letters/],
  [{ body: 'x', deduplicationId: 'd' }, /deduplicationId: only for FIFO queues/],
  [{ body: 'x', attributes: { a: { DataType: 'String' } } }, /attributes.a: expected \{ DataType/],
  [{ body: 'x', attributes: { a: null } }, /attributes.a/],
  [
    { body: 'x', attributes: Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`a${i}`, {}])) },
    /at most 10, got 11/,
  ],
  [
    { body: 'x'.repeat(262_145) },
    /the message has 262145 bytes with its attributes; maxBatchBytes is 262144/,
  ],
  [null, /expected a message/],
])('the invalid message %# fails at its caller and is never sent', async (message, text) => {
  const { clock, batcher, bodies } = scripted();
  const invalid = batcher.submit(message as never).catch((error: unknown) => error);
  const valid = batcher.submit({ body: 'valid' });
  await clock.advance(1);
  expect(await invalid).toBeInstanceOf(BatchwiseError);
  expect(await invalid).toMatchObject({ code: 'INVALID_ITEM', message: expect.stringMatching(text) });
  expect(await valid).toEqual({ messageId: 'id of valid' });
  expect(bodies()).toEqual([['valid']]);
});

test.each([
  [{ body: 'x' }, /groupId: required by a FIFO queue/],
  [{ body: 'x', groupId: 'g', delaySeconds: 1 }, /delaySeconds: a FIFO queue/],
])('the message %o is not for a FIFO queue', async (message, text) => {
  const { clock, batcher, requests } = scripted(fifo);
  const invalid = batcher.submit(message).catch((error: Error) => error);
  await clock.advance(1);
  expect(await invalid).toMatchObject({ code: 'INVALID_ITEM', message: expect.stringMatching(text) });
  expect(requests).toEqual([]);
});

test('a message that the answer does not mention fails', async () => {
  const { clock, batcher } = scripted({}, () => ({ omitted: ['lost'] }));
  const answers = outcomes(['kept', 'lost'].map((body) => batcher.submit({ body })));
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
        const policy = window({ maxWaitMs: 2 });
        const { clock, batcher, stored } = scripted(
          { ...fifo, maxBatchSize, policy, concurrency: 5 },
          (_, request) => ({ delayMs: delays[request] ?? 0 }),
        );
        const answers: Promise<unknown[]>[] = [];
        for (const [index, { group, pauseMs }] of submissions.entries()) {
          answers.push(outcomes([batcher.submit({ body: `${group} ${index}`, groupId: group })]));
          if (pauseMs > 0) await clock.advance(pauseMs);
        }
        await clock.advance(10_000);
        await Promise.all(answers);
        for (const group of ['a', 'b', 'c']) {
          const numbers = stored
            .filter((body) => body.startsWith(group))
            .map((body) => Number(body.slice(2)));
          expect(numbers).toEqual([...numbers].sort((left, right) => left - right));
        }
        expect(stored).toHaveLength(submissions.length);
      },
    ),
    { numRuns: 60 },
  );
});

test('batches of other groups do not wait', async () => {
  const { clock, batcher, bodies } = scripted({ ...fifo, concurrency: 3 }, () => ({ delayMs: 100 }));
  const answers = [];
  for (const [body, groupId] of [
    ['a1', 'a'],
    ['a2', 'a'],
    ['b1', 'b'],
  ]) {
    answers.push(batcher.submit({ body: body ?? '', groupId }));
    await clock.advance(1);
  }
  expect(bodies()).toEqual([['a1'], ['b1']]);
  await clock.advance(100);
  expect(bodies()).toEqual([['a1'], ['b1'], ['a2']]);
  await clock.advance(100);
  expect(await Promise.all(answers)).toHaveLength(3);
});

test('a message whose caller gives up while its group is busy is not sent', async () => {
  const { clock, batcher, stored } = scripted(
    { ...fifo, concurrency: 2, policy: window({ maxWaitMs: 1 }) },
    () => ({
      delayMs: 100,
    }),
  );
  const first = batcher.submit({ body: 'first', groupId: 'a' });
  await clock.advance(1);
  const late = outcomes([batcher.submit({ body: 'late', groupId: 'a' }, { timeoutMs: 50 })]);
  const patient = batcher.submit({ body: 'patient', groupId: 'a' });
  await clock.advance(300);
  expect(await first).toEqual({ messageId: 'id of first' });
  expect(await late).toEqual(['DEADLINE_EXCEEDED']);
  expect(await patient).toEqual({ messageId: 'id of patient' });
  expect(stored).toEqual(['first', 'patient']);
});

test.each([
  [{ maxBatchSize: 11 }, /maxBatchSize: expected a whole number from 1 to 10, got 11/],
  [{ maxBatchSize: -1 }, /maxBatchSize/],
  [{ maxBatchBytes: 1024 * 1024 + 1 }, /maxBatchBytes: expected a whole number from 1 to 1048576/],
  [{ queueUrl: 'orders' }, /queueUrl: expected the URL of a queue, got "orders"/],
  [{ costOf: () => 1 }, /costOf/],
  [{ queueURL: 'http://localhost/orders' }, /unknown option "queueURL"/],
])('the option %o is rejected', (options, message) => {
  expect(() => scripted(options as never)).toThrow(message);
});
