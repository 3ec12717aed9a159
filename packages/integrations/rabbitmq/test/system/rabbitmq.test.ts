/** Publishing and consuming with a real RabbitMQ. */
import { once } from 'node:events';
import * as rabbitmq from '@batchwise/rabbitmq';
import * as amqplib from 'amqplib';
import { type ChannelModel, type ConfirmChannel, type ConsumeMessage, connect } from 'amqplib';
import type { BatchwiseError } from 'batchwise';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { type RabbitMq, startRabbitMq } from '../../../../../scripts/services/rabbitmq.js';
import { readmeProgram } from '../../../fetch/test/readme-program.js';
import { consume, type OutgoingMessage, publishBatcher } from '../../src/index.js';
import { deferred } from '../support/deferred.js';
import { startTcpLink } from '../support/tcp-link.js';

let rabbit: RabbitMq;
let connection: ChannelModel;

beforeAll(async () => {
  rabbit = await startRabbitMq();
  connection = await connect(rabbit.url);
});

afterAll(async () => {
  await connection?.close();
  await rabbit?.stop();
});

async function openChannel(from = connection): Promise<ConfirmChannel> {
  const channel = await from.createConfirmChannel();
  onTestFinished(() => channel.close().catch(() => {})); // a test may have closed it
  return channel;
}

let queues = 0;

async function newQueue(channel: ConfirmChannel, options = {}): Promise<string> {
  queues += 1;
  const { queue } = await channel.assertQueue(`test-${queues}`, { autoDelete: false, ...options });
  return queue;
}

/** With a queue for the messages that are rejected. */
async function newQueueWithDeadLetters(channel: ConfirmChannel): Promise<{ queue: string; dead: string }> {
  const dead = await newQueue(channel);
  const queue = await newQueue(channel, { deadLetterExchange: '', deadLetterRoutingKey: dead });
  return { queue, dead };
}

async function fill(channel: ConfirmChannel, queue: string, contents: readonly string[]): Promise<void> {
  for (const content of contents) channel.sendToQueue(queue, Buffer.from(content));
  await channel.waitForConfirms();
}

/** All that the queue has to deliver, in order. */
async function contentsOf(channel: ConfirmChannel, queue: string): Promise<string[]> {
  const contents = [];
  for (;;) {
    const message = await channel.get(queue, { noAck: true });
    if (message === false) return contents;
    contents.push(message.content.toString());
  }
}

/** The next messages of a queue, as they arrive: the broker dead-letters after it has answered. */
async function take(channel: ConfirmChannel, queue: string, count: number): Promise<string[]> {
  const contents: string[] = [];
  const all = deferred();
  const { consumerTag } = await channel.consume(
    queue,
    (message) => {
      if (message !== null) contents.push(message.content.toString());
      if (contents.length === count) all.resolve();
    },
    { noAck: true },
  );
  await all.promise;
  await channel.cancel(consumerTag);
  return contents;
}

const texts = (messages: readonly ConsumeMessage[]) => messages.map(({ content }) => content.toString());
const range = (count: number) => Array.from({ length: count }, (_, index) => String(index));
const outcomes = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((outcome) =>
    outcome.status === 'fulfilled' ? 'ok' : (outcome.reason as BatchwiseError),
  );

describe('publishBatcher', () => {
  test('publishes many messages in few batches, in order', async () => {
    const channel = await openChannel();
    const queue = await newQueue(channel);
    const batcher = publishBatcher(channel, { maxBatchSize: 100 });
    await Promise.all(range(250).map((content) => batcher.submit({ routingKey: queue, content })));
    expect(await contentsOf(channel, queue)).toEqual(range(250));
    expect(batcher.stats()).toMatchObject({ succeeded: 250, batches: 3 });
    await batcher.close();
  });

  test('passes exchange, properties and bytes on', async () => {
    const channel = await openChannel();
    const queue = await newQueue(channel);
    await channel.assertExchange('orders', 'topic', { autoDelete: true });
    await channel.bindQueue(queue, 'orders', 'eu.*');
    const batcher = publishBatcher(channel);
    await batcher.submit({
      exchange: 'orders',
      routingKey: 'eu.de',
      content: new Uint8Array([1, 2, 255]),
      options: { persistent: true, mandatory: true, messageId: 'm1', headers: { shop: 7 } },
    });
    const message = await channel.get(queue, { noAck: true });
    expect(message).toMatchObject({
      content: Buffer.from([1, 2, 255]),
      fields: { exchange: 'orders', routingKey: 'eu.de' },
      properties: { deliveryMode: 2, messageId: 'm1', headers: { shop: 7 } },
    });
  });

  test('a message that is rejected by a full queue fails alone', async () => {
    const channel = await openChannel();
    const free = await newQueue(channel);
    const full = await newQueue(channel, { maxLength: 1, overflow: 'reject-publish' });
    await fill(channel, full, ['first']);
    const batcher = publishBatcher(channel);
    const results = await outcomes(
      [free, full, free].map((routingKey) => batcher.submit({ routingKey, content: 'x' })),
    );
    expect(results).toEqual(['ok', expect.objectContaining({ code: 'UNAVAILABLE' }), 'ok']);
    expect(results[1]).toMatchObject({ message: expect.stringContaining(full), cause: expect.any(Error) });
    expect(batcher.stats().batches).toBe(1);
  });

  /** Equal messages too: the first and the third of three are equal, and only one of them has a queue. */
  test('a mandatory message without a queue fails alone, though an equal message has one', async () => {
    const channel = await openChannel();
    const queue = await newQueue(channel);
    await channel.assertExchange('by-header', 'headers', { autoDelete: true });
    await channel.bindQueue(queue, 'by-header', '', { region: 'eu' });
    const batcher = publishBatcher(channel);
    const message = { exchange: 'by-header', routingKey: 'same', content: 'same' };
    const results = await outcomes(
      ['eu', 'us', 'eu', 'us'].map((region) =>
        batcher.submit({ ...message, options: { mandatory: true, headers: { region } } }),
      ),
    );
    const returned = expect.objectContaining({
      code: 'INVALID_ITEM',
      message: expect.stringMatching(/returned .* 312 NO_ROUTE/),
    });
    expect(results).toEqual(['ok', returned, 'ok', returned]);
    expect(await contentsOf(channel, queue)).toEqual(['same', 'same']);
  });

  test('a message that is not mandatory and has no queue is confirmed', async () => {
    const batcher = publishBatcher(await openChannel());
    await batcher.submit({ routingKey: 'no-such-queue', content: 'lost' });
  });

  test('each of many mixed messages has its own outcome', async () => {
    const channel = await openChannel();
    const full = await newQueue(channel, { maxLength: 1, overflow: 'reject-publish' });
    await fill(channel, full, ['first']);
    const kinds = {
      ok: (queue: string, content: string): OutgoingMessage => ({
        routingKey: queue,
        content,
        options: { mandatory: true },
      }),
      unroutable: (): OutgoingMessage => ({
        routingKey: 'no-such-queue',
        content: '',
        options: { mandatory: true },
      }),
      rejected: (): OutgoingMessage => ({ routingKey: full, content: 'y' }),
      tooLarge: (queue: string): OutgoingMessage => ({ routingKey: queue, content: 'x'.repeat(11) }),
      tooLongKey: (): OutgoingMessage => ({ routingKey: 'x'.repeat(256), content: '' }),
    };
    const code = {
      ok: undefined,
      unroutable: 'INVALID_ITEM',
      rejected: 'UNAVAILABLE',
      tooLarge: 'INVALID_ITEM',
      tooLongKey: 'INVALID_ITEM',
    };
    const kind = fc.constantFrom(...(Object.keys(kinds) as (keyof typeof kinds)[]));
    const queue = await newQueue(channel);
    await fc.assert(
      fc.asyncProperty(
        fc.array(kind, { minLength: 1, maxLength: 40 }),
        fc.integer({ min: 1, max: 16 }),
        async (chosen, maxBatchSize) => {
          const batcher = publishBatcher(channel, { maxBatchSize, maxMessageBytes: 10 });
          const results = await outcomes(
            chosen.map((name, index) => batcher.submit(kinds[name](queue, String(index)))),
          );
          expect(results.map((result) => (result === 'ok' ? undefined : result.code))).toEqual(
            chosen.map((name) => code[name]),
          );
          const expected = chosen.flatMap((name, index) => (name === 'ok' ? [String(index)] : []));
          expect(await contentsOf(channel, queue)).toEqual(expected);
        },
      ),
      { numRuns: 8 }, // each run adds listeners to the channel
    );
  });

  test('a missing exchange closes the channel: unconfirmed messages fail with UNAVAILABLE and the cause', async () => {
    const channel = await openChannel();
    const batcher = publishBatcher(channel);
    const call = batcher.submit({ exchange: 'no-such-exchange', routingKey: '', content: '' });
    await expect(call).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringMatching(/404.*no-such-exchange/),
      cause: expect.objectContaining({ code: 404 }),
    });
    await expect(batcher.submit({ routingKey: 'q', content: '' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      cause: expect.objectContaining({ name: 'IllegalOperationError' }),
    });
    await batcher.close();
  });

  test('a lost connection fails unconfirmed messages with UNAVAILABLE', async () => {
    await using link = await startTcpLink(rabbit.port);
    const other = await connect(`amqp://guest:guest@127.0.0.1:${link.port}`);
    other.on('error', () => {});
    const channel = await other.createConfirmChannel();
    const batcher = publishBatcher(channel);
    await batcher.submit({ routingKey: 'nowhere', content: 'confirmed' });
    link.hold();
    const calls = range(10).map((content) => batcher.submit({ routingKey: 'nowhere', content }));
    const results = outcomes(calls);
    while (batcher.stats().running < 10) await new Promise((resolve) => setImmediate(resolve));
    link.cut();
    for (const result of await results) expect(result).toMatchObject({ code: 'UNAVAILABLE' });
    await batcher.close();
  });

  test('respects the limit of the channel buffer', async () => {
    const channel = await connection.createConfirmChannel({ highWaterMark: 1 });
    const queue = await newQueue(channel);
    const batcher = publishBatcher(channel, { concurrency: 4, maxBatchSize: 16 });
    await Promise.all(range(200).map((content) => batcher.submit({ routingKey: queue, content })));
    const { messageCount } = await channel.checkQueue(queue);
    expect(messageCount).toBe(200);
    await channel.close();
  });

  test('close() waits for the confirms', async () => {
    const channel = await openChannel();
    const queue = await newQueue(channel);
    const batcher = publishBatcher(channel, { maxBatchSize: 10 });
    const calls = range(100).map((content) => batcher.submit({ routingKey: queue, content }));
    await batcher.close();
    expect(batcher.stats()).toMatchObject({ succeeded: 100, queued: 0, running: 0 });
    await Promise.all(calls);
    expect((await channel.checkQueue(queue)).messageCount).toBe(100);
  });
});

describe('consume', () => {
  test('acknowledges what succeeds; a failed message is delivered twice and then dead-lettered', async () => {
    const channel = await openChannel();
    const { queue, dead } = await newQueueWithDeadLetters(channel);
    await fill(channel, queue, range(20));
    const attempts = new Map<string, boolean[]>();
    const all = deferred();
    const consumer = await consume(
      channel,
      queue,
      (messages) =>
        messages.map(({ content, fields }) => {
          const text = content.toString();
          attempts.set(text, [...(attempts.get(text) ?? []), fields.redelivered]);
          if ([...attempts.values()].flat().length === 22) all.resolve();
          return text === '3' || text === '7' ? new Error(`no ${text}`) : text;
        }),
      { maxBatchSize: 5, onError: () => {} },
    );
    await all.promise;
    await consumer.close();
    expect(consumer.stats()).toMatchObject({ succeeded: 18, failed: 4 });
    expect(attempts.get('3')).toEqual([false, true]);
    expect(attempts.get('4')).toEqual([false]);
    expect(await contentsOf(channel, queue)).toEqual([]);
    expect((await take(channel, dead, 2)).sort()).toEqual(['3', '7']);
  });

  test.each([
    ['requeue: false, a batch that throws is delivered once', false, 1],
    [
      'a function for requeue, a batch that throws is delivered as often as it says',
      (_error: Error, message: ConsumeMessage) => !message.fields.redelivered,
      2,
    ],
  ])('with %s', async (_name, requeue, times) => {
    const channel = await openChannel();
    const { queue, dead } = await newQueueWithDeadLetters(channel);
    await fill(channel, queue, ['poison']);
    let calls = 0;
    const reached = deferred();
    const consumer = await consume(
      channel,
      queue,
      () => {
        calls += 1;
        if (calls === times) reached.resolve();
        throw new Error('database is down');
      },
      { requeue, onError: () => {} },
    );
    await reached.promise;
    await consumer.close();
    expect(await contentsOf(channel, queue)).toEqual([]);
    expect(await take(channel, dead, 1)).toEqual(['poison']);
    expect(calls).toBe(times);
  });

  test('onError gets each failed message and its own error', async () => {
    const channel = await openChannel();
    const queue = await newQueue(channel);
    await fill(channel, queue, ['a', 'b', 'c']);
    const failed: string[] = [];
    const both = deferred();
    const consumer = await consume(
      channel,
      queue,
      (messages) => texts(messages).map((text) => (text === 'b' ? text : new Error(`no ${text}`))),
      {
        requeue: false,
        onError: (error, { content }) => {
          failed.push(`${content}: ${error.message}`);
          if (failed.length === 2) both.resolve();
        },
      },
    );
    await both.promise;
    await consumer.close();
    expect(failed).toEqual(['a: no a', 'c: no c']);
  });

  test('takes no more messages than the running batches and the next one need', async () => {
    const channel = await openChannel();
    const queue = await newQueue(channel);
    await fill(channel, queue, range(50));
    const gate = deferred();
    const sizes: number[] = [];
    const consumer = await consume(
      channel,
      queue,
      async (messages) => {
        sizes.push(messages.length);
        await gate.promise;
        return messages;
      },
      { maxBatchSize: 4, concurrency: 2 },
    );
    const taken = () => consumer.stats().queued + consumer.stats().running;
    while (taken() < 12) await new Promise((resolve) => setImmediate(resolve));
    expect((await channel.checkQueue(queue)).messageCount).toBe(38);
    expect(taken()).toBe(12);
    gate.resolve();
    await consumer.close();
    expect(Math.max(...sizes)).toBeLessThanOrEqual(4);
  });

  test('close() handles what was received and leaves the rest in the queue', async () => {
    const channel = await openChannel();
    const queue = await newQueue(channel);
    await fill(channel, queue, range(30));
    const gate = deferred();
    const handled: string[] = [];
    const consumer = await consume(
      channel,
      queue,
      async (messages) => {
        await gate.promise;
        handled.push(...texts(messages));
        return messages;
      },
      { maxBatchSize: 5 },
    );
    while (consumer.stats().queued + consumer.stats().running < 10) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    const closed = consumer.close();
    gate.resolve();
    await closed;
    const left = await contentsOf(channel, queue);
    expect([...handled, ...left].sort()).toEqual(range(30).sort());
    expect(left.length).toBeGreaterThan(0);
  });

  test('close({ timeoutMs }) returns unhandled messages to the queue', async () => {
    const channel = await openChannel();
    const { queue, dead } = await newQueueWithDeadLetters(channel);
    await fill(channel, queue, range(10));
    const errors: Error[] = [];
    const started = deferred();
    const consumer = await consume(
      channel,
      queue,
      () => {
        started.resolve();
        return new Promise<never>(() => {});
      },
      {
        maxBatchSize: 2,
        requeue: false,
        onError: (error) => errors.push(error),
      },
    );
    await started.promise;
    await consumer.close({ timeoutMs: 1 });
    expect(errors).toEqual([]);
    expect(await contentsOf(channel, queue)).toEqual(range(10));
    expect(await contentsOf(channel, dead)).toEqual([]);
  });

  test('after a lost connection, results are dropped and another consumer gets the messages again', async () => {
    await using link = await startTcpLink(rabbit.port);
    const other = await connect(`amqp://guest:guest@127.0.0.1:${link.port}`);
    other.on('error', () => {});
    const lost = await other.createConfirmChannel();
    const channel = await openChannel();
    const queue = await newQueue(channel);
    await fill(channel, queue, range(10));

    const gate = deferred();
    const returned = deferred();
    let signal: AbortSignal | undefined;
    let rejections = 0;
    const first = await consume(
      lost,
      queue,
      async (messages, context) => {
        signal = context.signal;
        await gate.promise;
        returned.resolve();
        return messages;
      },
      {
        maxBatchSize: 5,
        onError: () => {
          rejections += 1;
        },
      },
    );
    while (first.stats().queued + first.stats().running < 10) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    const closed = once(lost, 'close');
    link.cut();
    await closed;
    expect(signal?.aborted).toBe(true);
    gate.resolve();
    await returned.promise;
    await first.close();
    expect(first.stats()).toMatchObject({ succeeded: 0, queued: 0, running: 0 });
    expect(rejections).toBe(0);

    const again = new Map<string, boolean>();
    const all = deferred();
    const second = await consume(channel, queue, (messages) => {
      for (const { content, fields } of messages) again.set(content.toString(), fields.redelivered);
      if (again.size === 10) all.resolve();
      return messages;
    });
    await all.promise;
    await second.close();
    expect([...again.keys()].sort()).toEqual(range(10));
    expect([...again.values()].every(Boolean)).toBe(true);
    expect((await channel.checkQueue(queue)).messageCount).toBe(0);
  });

  test('a handler that returns while its channel is closing acknowledges nothing', async () => {
    const channel = await openChannel();
    const queue = await newQueue(channel);
    await fill(channel, queue, ['a']);
    const lost = await connection.createChannel();
    const gate = deferred();
    const started = deferred();
    const consumer = await consume(lost, queue, async (messages) => {
      started.resolve();
      await gate.promise;
      return messages;
    });
    await started.promise;
    const closed = lost.close();
    gate.resolve();
    await closed;
    await consumer.close();
    expect(await contentsOf(channel, queue)).toEqual(['a']);
  });

  test('a handler that returns nothing has succeeded with all messages', async () => {
    const channel = await openChannel();
    const queue = await newQueue(channel);
    await fill(channel, queue, ['a', 'b']);
    const both = deferred();
    let seen = 0;
    const consumer = await consume(channel, queue, (messages) => {
      seen += messages.length;
      if (seen === 2) both.resolve();
    });
    await both.promise;
    await consumer.close();
    expect(consumer.stats()).toMatchObject({ succeeded: 2, failed: 0 });
    expect((await channel.checkQueue(queue)).messageCount).toBe(0);
  });

  test('a consumer whose queue is deleted can be closed', async () => {
    const channel = await openChannel();
    const queue = await newQueue(channel);
    const consumer = await consume(channel, queue, (messages) => messages);
    const cancelled = once(channel, 'cancel');
    await (await openChannel()).deleteQueue(queue);
    await cancelled;
    await consumer.close();
  });

  test('rejects when the queue does not exist', async () => {
    const channel = await openChannel();
    channel.on('error', () => {});
    await expect(consume(channel, 'no-such-queue', (messages) => messages)).rejects.toThrow(/404/);
  });
});

test('the program of the README prints what it says', async () => {
  const { expected, run } = readmeProgram(new URL('../../README.md', import.meta.url));
  const modules = { '@batchwise/rabbitmq': rabbitmq, amqplib };
  expect(await run(modules, { 'amqp://localhost': rabbit.url })).toBe(expected);
});
