/** Options and items that are wrong, and back-pressure, on a channel without a broker. */
import { EventEmitter } from 'node:events';
import type { ConfirmChannel } from 'amqplib';
import { expect, test } from 'vitest';
import { consume, type OutgoingMessage, type PublishOptions, publishBatcher } from '../src/index.js';

type Confirm = (error: Error | null) => void;

/** Takes messages and confirms nothing by itself. */
class FakeChannel extends EventEmitter {
  readonly published: string[] = [];
  readonly confirms: Confirm[] = [];
  /** How many messages fit until the next 'drain'. */
  room = Number.POSITIVE_INFINITY;

  publish(_exchange: string, _key: string, content: Buffer, _options: unknown, confirm: Confirm): boolean {
    this.published.push(content.toString());
    this.confirms.push(confirm);
    this.room -= 1;
    return this.room > 0;
  }

  confirmAll(): void {
    for (const confirm of this.confirms.splice(0)) confirm(null);
  }
}

function fake(): { fakeChannel: FakeChannel; channel: ConfirmChannel } {
  const fakeChannel = new FakeChannel();
  return { fakeChannel, channel: fakeChannel as unknown as ConfirmChannel };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('publishes no more than the channel takes until it drains', async () => {
  const { fakeChannel, channel } = fake();
  fakeChannel.room = 2;
  const batcher = publishBatcher(channel);
  const all = Promise.all(
    ['a', 'b', 'c', 'd'].map((content) => batcher.submit({ routingKey: 'q', content })),
  );
  while (fakeChannel.published.length < 2) await turn();
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect(fakeChannel.published).toEqual(['a', 'b']);

  fakeChannel.room = Number.POSITIVE_INFINITY;
  fakeChannel.emit('drain');
  while (fakeChannel.published.length < 4) await turn();
  fakeChannel.confirmAll();
  await all;
  expect(fakeChannel.published).toEqual(['a', 'b', 'c', 'd']);
});

test('each caller hears of its own confirm, before its neighbours', async () => {
  const { fakeChannel, channel } = fake();
  const batcher = publishBatcher(channel);
  const settled: string[] = [];
  const calls = ['a', 'b'].map((content) =>
    batcher.submit({ routingKey: 'q', content }).then(() => settled.push(content)),
  );
  while (fakeChannel.confirms.length < 2) await turn();
  fakeChannel.confirms[1]?.(null);
  await calls[1];
  expect(settled).toEqual(['b']);
  fakeChannel.confirms[0]?.(null);
  await Promise.all(calls);
});

test('a batch that nobody waits for publishes no more messages', async () => {
  const { fakeChannel, channel } = fake();
  fakeChannel.room = 1;
  const batcher = publishBatcher(channel);
  const calls = ['a', 'b'].map((content) => batcher.submit({ routingKey: 'q', content }));
  while (fakeChannel.published.length < 1) await turn();
  batcher.destroy();
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: 'CLOSED' });
  fakeChannel.emit('drain');
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect(fakeChannel.published).toEqual(['a']);
});

const invalidItems: readonly [string, unknown, RegExp][] = [
  [
    'content that is neither text nor bytes',
    { routingKey: 'q', content: 7 },
    /content: expected .* got number/,
  ],
  ['no routing key', { content: 'a' }, /routingKey: expected a string, got undefined/],
  ['too many bytes', { routingKey: 'q', content: 'ééé' }, /at most 5 bytes \(maxMessageBytes\), got 6/],
  [
    'an expiration that is no number',
    { routingKey: 'q', content: 'a', options: { expiration: 'soon' } },
    /options.expiration: expected milliseconds, got soon/,
  ],
];

test.each(invalidItems)('rejects %s and sends its neighbours', async (_what, item, message) => {
  const { fakeChannel, channel } = fake();
  const batcher = publishBatcher(channel, { maxMessageBytes: 5 });
  const bad = batcher.submit(item as OutgoingMessage);
  const good = batcher.submit({ routingKey: 'q', content: new Uint8Array([65, 66, 67, 68, 69]) });
  await expect(bad).rejects.toMatchObject({ code: 'INVALID_ITEM', message: expect.stringMatching(message) });
  fakeChannel.confirmAll();
  await good;
  expect(fakeChannel.published).toEqual(['ABCDE']);
});

test.each([
  [{ maxMessageBytes: 0 }, /maxMessageBytes: expected a whole number above 0, got 0/],
  [{ maxBatchSise: 1 } as PublishOptions, /maxBatchSise/],
])('publishBatcher() rejects the options %j', (options, message) => {
  expect(() => publishBatcher(fake().channel, options)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(message) }),
  );
});

test.each([
  [{ maxBatchSize: 40_000 }, /prefetch count: expected at most 65535, got 80000/],
  [{ maxBatchSize: -1 }, /expected at most 65535, got Infinity/],
  [{ maxBatchSize: 1.5 }, /maxBatchSize/],
  [{ maxQueueSize: 5 }, /maxQueueSize: not an option of consume/],
  [{ timeoutMs: 5 }, /timeoutMs: not an option of consume/],
  [{ onError: 'log' }, /onError: expected a function, got string/],
  [{ requeue: 'twice' }, /requeue: expected true, false or a function .* got twice/],
])('consume() rejects the options %j', async (options, message) => {
  await expect(consume(fake().channel, 'q', () => [], options as object)).rejects.toMatchObject({
    code: 'INVALID_OPTION',
    message: expect.stringMatching(message),
  });
});
