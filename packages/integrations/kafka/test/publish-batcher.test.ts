/** Publishing, on a double of the kafkajs producer. */
import { once } from 'node:events';
import type { BatchwiseError } from 'batchwise';
import fc from 'fast-check';
import { type Message, Partitioners, type ProducerBatch } from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { type OutgoingMessage, type PublishOptions, publishBatcher, trackPartitions } from '../src/index.js';
import { deferred } from './support/deferred.js';
import { FakeProducer } from './support/fake-producer.js';

const tracked = (topics: Readonly<Record<string, number>>) =>
  new FakeProducer(topics, trackPartitions(Partitioners.DefaultPartitioner));
const settle = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((call) =>
    call.status === 'fulfilled' ? call.value : (call.reason as BatchwiseError),
  );
const values = (log: readonly Message[] | undefined) => log?.map(({ value }) => String(value));
const range = (count: number) => Array.from({ length: count }, (_, index) => index);

test('each message gets its own partition and offset, also when kafkajs retries', async () => {
  const message = fc.record({
    topic: fc.constantFrom('a', 'b'),
    key: fc.option(fc.constantFrom('k1', 'k2', 'k3', 'k4'), { nil: undefined }),
    partition: fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 1, max: 20 }),
      fc.integer({ min: 150, max: 1000 }),
      fc.option(fc.integer({ min: 0, max: 3 }), { nil: undefined }),
      async (messages, maxBatchSize, maxMessageBytes, failingPartition) => {
        const producer = tracked({ a: 4, b: 4 });
        producer.failingPartition = failingPartition;
        const batcher = publishBatcher(producer, { maxBatchSize, maxMessageBytes });
        const places = await Promise.all(
          messages.map(({ topic, key, partition }, index) =>
            batcher.submit({
              topic,
              value: String(index),
              ...(key === undefined ? {} : { key }),
              ...(partition === undefined ? {} : { partition }),
            }),
          ),
        );
        for (const [index, { topic, partition, offset }] of places.entries()) {
          const log = producer.topics.get(topic)?.[partition ?? -1];
          expect(log?.[Number(offset)]?.value).toBe(String(index));
          expect(partition).toBe(messages[index]?.partition ?? partition);
        }
        // The order of submission within each partition, and nothing twice.
        for (const log of [...producer.topics.values()].flat()) {
          const written = log.map(({ value }) => Number(value));
          expect(written).toEqual([...written].sort((a, b) => a - b));
        }
        expect([...producer.topics.values()].flat(2)).toHaveLength(messages.length);
      },
    ),
    { numRuns: 100 },
  );
});

test('without trackPartitions, partition and offset are unknown rather than invented, with a warning', async () => {
  const batcher = publishBatcher(new FakeProducer({ a: 2 }), { topic: 'a' });
  const warned = once(process, 'warning');
  const unknown = { topic: 'a', partition: undefined, offset: undefined };
  expect(await batcher.submit({ value: 'x' })).toEqual(unknown);
  expect(await batcher.submit({ value: 'x', partition: 1 })).toEqual(unknown);
  expect(await warned).toEqual([expect.objectContaining({ code: 'BATCHWISE_KAFKA_PARTITIONER' })]);
});

test('the same object can be submitted twice, and messages of others are not remembered', async () => {
  const producer = tracked({ a: 2 });
  const batcher = publishBatcher(producer, { topic: 'a' });
  const item = { value: 'x' };
  const places = await Promise.all([batcher.submit(item), batcher.submit(item)]);
  expect(places.map(({ partition }) => partition).sort()).toEqual([0, 1]);

  const direct = { value: 'direct' };
  for (let times = 0; times < 2; times += 1) {
    await producer.sendBatch({ topicMessages: [{ topic: 'a', messages: [direct] }] });
  }
  expect(producer.topics.get('a')?.map((log) => log.length)).toEqual([2, 2]);
});

test.each([true, false])(
  'a partition that does not exist fails only its message (tracked: %s)',
  async (isTracked) => {
    const producer = isTracked ? tracked({ a: 2 }) : new FakeProducer({ a: 2 });
    const batcher = publishBatcher(producer, { topic: 'a' });
    const [first, missing, last] = await settle(
      [0, 9, 1].map((partition) => batcher.submit({ value: 'x', partition })),
    );
    expect(first).toMatchObject({ topic: 'a' });
    expect(missing).toMatchObject({
      code: 'INVALID_ITEM',
      message: expect.stringMatching(/nothing for partition 9 of topic a/),
    });
    expect(last).toMatchObject({ topic: 'a' });
  },
);

test('a topic that does not exist fails only its messages', async () => {
  const batcher = publishBatcher(tracked({ a: 1 }));
  const [good, bad] = await settle(['a', 'b'].map((topic) => batcher.submit({ topic, value: 'x' })));
  expect(good).toEqual({ topic: 'a', partition: 0, offset: '0' });
  expect(bad).toMatchObject({ code: 'UNAVAILABLE', cause: expect.objectContaining({ retriable: true }) });
});

test('the messages of a topic do not wait for another topic', async () => {
  const producer = tracked({ a: 1, b: 1 });
  const gate = deferred();
  producer.beforeWrite = ({ topicMessages }) =>
    topicMessages?.[0]?.topic === 'b' ? gate.promise : undefined;
  const batcher = publishBatcher(producer);
  const slow = batcher.submit({ topic: 'b', value: 'x' });
  await batcher.submit({ topic: 'a', value: 'x' });
  expect(batcher.stats()).toMatchObject({ batches: 1, running: 1 });
  gate.resolve();
  await slow;
});

const header = (value: unknown) => ({ value: 'x', headers: { h: value } });
const invalidItems: readonly [string, unknown, RegExp][] = [
  ['no value', {}, /value: expected a string or a Buffer, got undefined/],
  ['a number as value', { value: 7 }, /value: expected .* got number/],
  ['bytes that are not a Buffer', { value: new Uint8Array(3) }, /value: expected .* got object/],
  ['a number as key', { key: 7, value: 'x' }, /key: expected .* got number/],
  ['a header without a value', header(undefined), /headers.h: expected .* got undefined/],
  ['a header with null in a list', header(['a', null]), /headers.h: expected .* got null/],
  ['a negative partition', { value: 'x', partition: -1 }, /partition: expected .* got -1/],
  ['a timestamp that is no number', { value: 'x', timestamp: 'now' }, /timestamp: expected .* got now/],
  [
    'a value that is too large',
    { value: 'x'.repeat(900) },
    /at most 900 bytes \(maxMessageBytes\), got up to 997/,
  ],
  ['no topic', { value: 'x', topic: '' }, /topic: expected a name/],
  ['nothing', undefined, /cannot be sent/],
];

test.each(invalidItems)('rejects %s and sends its neighbours', async (_what, item, message) => {
  const producer = tracked({ a: 1 });
  const batcher = publishBatcher(producer, { topic: 'a', maxMessageBytes: 900 });
  const [bad, good] = await settle([
    batcher.submit(item as OutgoingMessage),
    batcher.submit({ value: null }),
  ]);
  expect(bad).toMatchObject({ code: 'INVALID_ITEM', message: expect.stringMatching(message) });
  expect(good).toEqual({ topic: 'a', partition: 0, offset: '0' });
});

test('a batch that is larger than a record batch is sent in parts, in order', async () => {
  const producer = tracked({ a: 1 });
  const batcher = publishBatcher(producer, { topic: 'a', maxMessageBytes: 1000 });
  const places = await Promise.all(
    range(10).map((index) => batcher.submit({ key: 'k', value: `${index}`.padEnd(300, '.') })),
  );
  expect(places.map(({ offset }) => Number(offset))).toEqual(range(10));
  expect(producer.calls.map(sizeOf)).toEqual([2, 2, 2, 2, 2]);
  expect(batcher.stats().batches).toBe(1);
});

test('sends one batch at a time, so that messages with the same key keep their order', async () => {
  const producer = tracked({ a: 3 });
  let running = 0;
  producer.beforeWrite = async () => {
    running += 1;
    expect(running).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
  };
  const batcher = publishBatcher(producer, { topic: 'a', maxBatchSize: 4 });
  await Promise.all(range(30).map((index) => batcher.submit({ key: 'same', value: String(index) })));
  const logs = producer.topics.get('a')?.filter(({ length }) => length > 0) ?? [];
  expect(logs.map(values)).toEqual([range(30).map(String)]);
});

describe('errors of kafkajs', () => {
  const failing = (error: unknown) => {
    const producer = tracked({ a: 1 });
    producer.beforeWrite = () => {
      throw error;
    };
    return publishBatcher(producer, { topic: 'a' }).submit({ value: 'x' });
  };

  test.each([
    ['retriable', Object.assign(new Error('Connection timeout'), { retriable: true })],
    [
      'retried in vain',
      Object.assign(new Error('x', { cause: Object.assign(new Error('y'), { retriable: true }) }), {
        retriable: false,
      }),
    ],
    ['disconnecting', Object.assign(new Error('The producer is disconnecting'), { retriable: false })],
  ])('that are %s become UNAVAILABLE', async (_what, cause) => {
    await expect(failing(cause)).rejects.toMatchObject({ code: 'UNAVAILABLE', cause });
  });

  test('that are final pass through', async () => {
    const error = Object.assign(new Error('Not authorized'), { retriable: false });
    await expect(failing(error)).rejects.toBe(error);
  });
});

test('passes headers, key, timestamp and compression on', async () => {
  const producer = tracked({ a: 1 });
  const batcher = publishBatcher(producer, { topic: 'a', compression: 1 });
  const item = {
    key: Buffer.from('k'),
    value: 'v',
    headers: { h: ['1', Buffer.from('2')] },
    timestamp: '1700000000000',
  };
  await batcher.submit(item);
  expect(producer.topics.get('a')?.[0]).toEqual([item]);
  expect(producer.calls[0]).toMatchObject({ compression: 1 });
});

test.each([
  [{ maxMessageBytes: 0 }, /maxMessageBytes: expected a whole number above 0, got 0/],
  [{ concurrency: 2 }, /concurrency: not an option of publishBatcher\(\): .* keeps the order/],
  [{ topics: 'a' }, /topics/],
])('rejects the options %j', (options, message) => {
  expect(() => publishBatcher(tracked({}), options as PublishOptions)).toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringMatching(message) }),
  );
});

function sizeOf({ topicMessages }: ProducerBatch): number | undefined {
  return topicMessages?.[0]?.messages.length;
}
