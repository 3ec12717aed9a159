/** Publishing and consuming with a real Kafka. */
import * as batchwiseKafka from '@batchwise/kafka';
import { type BatchwiseError, window } from 'batchwise';
import * as kafkajs from 'kafkajs';
import {
  type Admin,
  type Consumer,
  type ITopicConfig,
  Kafka,
  logLevel,
  Partitioners,
  type Producer,
} from 'kafkajs';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  KAFKA_VERSION,
  type Kafka as KafkaServer,
  kafkaObstacle,
  startKafka,
} from '../../../../../scripts/services/kafka.js';
import { readmeProgram } from '../../../fetch/test/readme-program.js';
import { consume, publishBatcher, type ReceivedMessage, trackPartitions } from '../../src/index.js';
import { deferred } from '../support/deferred.js';

const obstacle = kafkaObstacle();
const title = `Apache Kafka ${KAFKA_VERSION}${obstacle === undefined ? '' : ` (skipped: ${obstacle})`}`;

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const texts = (received: readonly ReceivedMessage[]) => received.map(({ message }) => String(message.value));
const settle = async (calls: readonly Promise<unknown>[]) =>
  (await Promise.allSettled(calls)).map((call) =>
    call.status === 'fulfilled' ? call.value : (call.reason as BatchwiseError),
  );

describe.skipIf(obstacle !== undefined)(title, () => {
  let server: KafkaServer;
  let kafka: Kafka;
  let admin: Admin;
  let names = 0;

  beforeAll(async () => {
    server = await startKafka();
    kafka = new Kafka({ brokers: [server.broker], logLevel: logLevel.NOTHING });
    admin = kafka.admin();
    await admin.connect();
  });

  afterAll(async () => {
    await admin?.disconnect();
    await server?.stop();
  });

  async function newTopic(config: Omit<ITopicConfig, 'topic'> = {}): Promise<string> {
    names += 1;
    const topic = `topic-${names}`;
    await admin.createTopics({ topics: [{ topic, ...config }], waitForLeaders: true });
    return topic;
  }

  async function newProducer(options = {}): Promise<Producer> {
    const producer = kafka.producer({
      createPartitioner: trackPartitions(Partitioners.DefaultPartitioner),
      ...options,
    });
    await producer.connect();
    onTestFinished(() => producer.disconnect());
    return producer;
  }

  /** With short intervals, so that a rebalance is noticed soon. */
  async function newConsumer(groupId: string): Promise<Consumer> {
    const consumer = kafka.consumer({ groupId, heartbeatInterval: 100, maxWaitTimeInMs: 100 });
    await consumer.connect();
    onTestFinished(() => consumer.disconnect());
    return consumer;
  }

  async function fill(topic: string, count: number, partition?: number): Promise<void> {
    const producer = await newProducer();
    const messages = range(count).map((index) => ({
      key: `key-${index % 10}`,
      value: String(index),
      ...(partition === undefined ? {} : { partition }),
    }));
    await producer.send({ topic, messages });
  }

  /** By partition; -1 if nothing was committed. */
  async function committed(groupId: string, topic: string): Promise<number[]> {
    const [offsets] = await admin.fetchOffsets({ groupId, topics: [topic] });
    return (offsets?.partitions ?? [])
      .sort((a, b) => a.partition - b.partition)
      .map(({ offset }) => Number(offset));
  }

  /** Reads all of a topic: `partition/offset` of each value. */
  async function placesIn(topic: string, count: number): Promise<Map<string, string>> {
    const consumer = await newConsumer(`reader-of-${topic}`);
    const places = new Map<string, string>();
    const all = deferred();
    await consumer.subscribe({ topics: [topic], fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ partition, message }) => {
        places.set(String(message.value), `${partition}/${message.offset}`);
        if (places.size === count) all.resolve();
      },
    });
    await all.promise;
    await consumer.stop();
    return places;
  }

  describe('publishBatcher', () => {
    test.each([{}, { idempotent: true, maxInFlightRequests: 1 }])(
      'tells each caller where its message is (producer %j)',
      async (options) => {
        const topic = await newTopic({ numPartitions: 5 });
        const batcher = publishBatcher(await newProducer(options), { topic, maxBatchSize: 40 });
        const published = await Promise.all(
          range(300).map((index) =>
            batcher.submit({
              value: String(index),
              ...(index % 3 === 0 ? {} : { key: `key-${index % 20}` }),
            }),
          ),
        );
        const places = await placesIn(topic, 300);
        expect(published.map(({ partition, offset }) => `${partition}/${offset}`)).toEqual(
          range(300).map((index) => places.get(String(index))),
        );
        expect(batcher.stats().batches).toBeLessThan(20);
        await batcher.close();
      },
    );

    test('messages with the same key keep their order', async () => {
      const topic = await newTopic({ numPartitions: 3 });
      const batcher = publishBatcher(await newProducer(), { topic, maxBatchSize: 7 });
      const published = await Promise.all(
        range(200).map((index) => batcher.submit({ key: `key-${index % 4}`, value: String(index) })),
      );
      for (const key of range(4)) {
        const offsets = published.filter((_, index) => index % 4 === key).map(({ offset }) => Number(offset));
        expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
      }
    });

    test('a message at the size limit is taken, a larger one fails alone', async () => {
      const topic = await newTopic();
      const batcher = publishBatcher(await newProducer(), { topic });
      const sizes = [10, 1_048_588 - 61 - 36, 1_048_588 - 61 - 36 + 1, 10];
      const [small, largest, tooLarge, last] = await settle(
        sizes.map((size) => batcher.submit({ value: Buffer.alloc(size) })),
      );
      expect([small, largest, last]).toEqual(
        ['0', '1', '2'].map((offset) => ({ topic, partition: 0, offset })),
      );
      expect(tooLarge).toMatchObject({ code: 'INVALID_ITEM' });
    });

    test('a batch of several megabytes is sent in parts', async () => {
      const topic = await newTopic();
      const batcher = publishBatcher(await newProducer(), { topic });
      const published = await Promise.all(
        range(30).map(() => batcher.submit({ value: Buffer.alloc(200_000) })),
      );
      expect(published.map(({ offset }) => Number(offset))).toEqual(range(30));
    });

    test('a topic or a partition that does not exist fails only its messages', async () => {
      const topic = await newTopic({ numPartitions: 2 });
      const producer = await newProducer({ retry: { retries: 1, initialRetryTime: 10 } });
      const batcher = publishBatcher(producer);
      const results = await settle([
        batcher.submit({ topic, value: 'a', partition: 1 }),
        batcher.submit({ topic: 'no-such-topic', value: 'b' }),
        batcher.submit({ topic, value: 'c', partition: 7 }),
        batcher.submit({ topic, value: 'd', partition: 1 }),
      ]);
      expect(results).toEqual([
        { topic, partition: 1, offset: '0' },
        expect.objectContaining({ code: 'UNAVAILABLE' }),
        expect.objectContaining({ code: 'INVALID_ITEM', message: expect.stringContaining('partition 7') }),
        { topic, partition: 1, offset: '1' },
      ]);
    });

    test('a disconnected producer fails messages with UNAVAILABLE', async () => {
      const topic = await newTopic();
      const producer = await newProducer();
      const batcher = publishBatcher(producer, { topic });
      await producer.disconnect();
      await expect(batcher.submit({ value: 'x' })).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    });
  });

  describe('consume', () => {
    test('handles messages of all partitions in batches and commits them', async () => {
      const topic = await newTopic({ numPartitions: 4 });
      await fill(topic, 400);
      const seen = new Set<string>();
      const all = deferred();
      const consumer = await consume(
        await newConsumer('g1'),
        [topic],
        (received) => {
          for (const text of texts(received)) seen.add(text);
          if (seen.size === 400) all.resolve();
        },
        { fromBeginning: true, maxBatchSize: 50, policy: window({ maxWaitMs: 20 }) },
      );
      await all.promise;
      await consumer.close();
      const offsets = await committed('g1', topic);
      expect(offsets.reduce((sum, offset) => sum + Math.max(0, offset), 0)).toBe(400);
      expect(consumer.stats().batches).toBeLessThan(100);
    });

    test('a failed message stops only its partition; after a retry all is committed', async () => {
      const topic = await newTopic({ numPartitions: 2 });
      await fill(topic, 50, 0);
      await fill(topic, 50, 1);
      let isBroken = true;
      let attempts = 0;
      const retried = deferred();
      const done = [new Set<string>(), new Set<string>()];
      const all = deferred();
      const consumer = await consume(
        await newConsumer('g2'),
        [topic],
        (received) =>
          received.map(({ partition, message }) => {
            const text = String(message.value);
            if (partition === 0 && text === '10') {
              attempts += 1;
              if (attempts === 3) retried.resolve();
              if (isBroken) return new Error('database is down');
            }
            done[partition]?.add(text);
            if (done[0]?.size === 50 && done[1]?.size === 50) all.resolve();
            return text;
          }),
        { fromBeginning: true, maxBatchSize: 5, retryDelayMs: 50 },
      );
      await retried.promise;
      const offsets = await committed('g2', topic);
      expect(offsets[0]).toBe(10);
      isBroken = false;
      await all.promise;
      await consumer.close();
      expect(await committed('g2', topic)).toEqual([50, 50]);
    });

    test('a failed message goes to a dead-letter topic, and its partition goes on', async () => {
      const topic = await newTopic();
      const deadTopic = await newTopic();
      await fill(topic, 20);
      const dead = publishBatcher(await newProducer(), { topic: deadTopic });
      const all = deferred();
      let handled = 0;
      const consumer = await consume(
        await newConsumer('g3'),
        [topic],
        (received) =>
          texts(received).map((text) => {
            handled += 1;
            if (handled === 20) all.resolve();
            return text === '3' || text === '17' ? new Error(`no ${text}`) : text;
          }),
        {
          fromBeginning: true,
          onFailed: (error, { message }) =>
            dead.submit({ value: message.value, key: message.key, headers: { error: error.message } }),
        },
      );
      await all.promise;
      await consumer.close();
      expect(await committed('g3', topic)).toEqual([20]);
      expect([...(await placesIn(deadTopic, 2)).keys()].sort()).toEqual(['17', '3']);
    });

    test('what was not handled before close() is delivered to the next consumer of the group', async () => {
      const topic = await newTopic();
      await fill(topic, 100);
      const seen: string[] = [];
      const started = deferred();
      const gate = deferred();
      const first = await consume(
        await newConsumer('g4'),
        [topic],
        async (received) => {
          seen.push(...texts(received));
          started.resolve();
          await gate.promise;
        },
        { fromBeginning: true, maxBatchSize: 10 },
      );
      await started.promise;
      const closed = first.close();
      gate.resolve();
      await closed;
      const [offset = 0] = await committed('g4', topic);
      expect(offset).toBe(seen.length);
      expect(offset).toBeLessThan(100);

      const all = deferred();
      const second = await consume(await newConsumer('g4'), [topic], (received) => {
        seen.push(...texts(received));
        if (seen.length === 100) all.resolve();
      });
      await all.promise;
      await second.close();
      expect(seen).toEqual(range(100).map(String));
    });

    test('a batch that is longer than the session keeps its place in the group', async () => {
      const topic = await newTopic();
      await fill(topic, 3);
      const kafkaConsumer = kafka.consumer({ groupId: 'g5', sessionTimeout: 6000, heartbeatInterval: 500 });
      await kafkaConsumer.connect();
      onTestFinished(() => kafkaConsumer.disconnect());
      let joins = 0;
      kafkaConsumer.on(kafkaConsumer.events.GROUP_JOIN, () => {
        joins += 1;
      });
      let beats = 0;
      const enough = deferred();
      // More heartbeats than fit in a session.
      kafkaConsumer.on(kafkaConsumer.events.HEARTBEAT, () => {
        beats += 1;
        if (beats === 10) enough.resolve();
      });
      const handled = deferred();
      const consumer = await consume(
        kafkaConsumer,
        [topic],
        async () => {
          await enough.promise;
          handled.resolve();
        },
        { fromBeginning: true },
      );
      await handled.promise;
      await consumer.close();
      expect(joins).toBe(1);
      expect(await committed('g5', topic)).toEqual([3]);
    });

    test('messages that run when another consumer joins are committed before the partitions are reassigned', async () => {
      const topic = await newTopic({ numPartitions: 2 });
      await fill(topic, 40, 0);
      await fill(topic, 40, 1);
      const seen: string[] = [];
      const started = deferred();
      const gate = deferred();
      const all = deferred();
      const handler = async (received: ReceivedMessage[]) => {
        started.resolve();
        await gate.promise;
        for (const { partition, message } of received) seen.push(`${partition}:${message.value}`);
        if (seen.length === 80) all.resolve();
      };
      const options = { fromBeginning: true, maxBatchSize: 5 };
      const first = await consume(await newConsumer('g7'), [topic], handler, options);
      await started.promise;
      const joining = consume(await newConsumer('g7'), [topic], handler, options);
      const state = async () => (await admin.describeGroups(['g7'])).groups[0]?.state;
      while ((await state()) !== 'PreparingRebalance') await new Promise((resolve) => setImmediate(resolve));
      gate.resolve();
      const second = await joining;
      await all.promise;
      await first.close();
      await second.close();
      // Each exactly once.
      expect(seen.sort()).toEqual(
        [0, 1].flatMap((partition) => range(40).map((n) => `${partition}:${n}`)).sort(),
      );
      expect(await committed('g7', topic)).toEqual([40, 40]);
    });

    test('nothing is lost when consumers join and leave the group', async () => {
      const topic = await newTopic({ numPartitions: 6 });
      await fill(topic, 600);
      const done = new Set<string>();
      const all = deferred();
      const half = deferred();
      const join = async () =>
        consume(
          await newConsumer('g6'),
          [topic],
          async (received) => {
            await new Promise((resolve) => setImmediate(resolve));
            for (const text of texts(received)) done.add(text);
            if (done.size >= 200) half.resolve();
            if (done.size === 1200) all.resolve();
          },
          { fromBeginning: true, maxBatchSize: 5, concurrency: 2 },
        );
      const first = await join();
      await half.promise;
      const second = await join();
      const producer = await newProducer();
      await producer.send({ topic, messages: range(600).map((index) => ({ value: String(600 + index) })) });
      await first.close();
      const third = await join();
      await all.promise;
      await second.close();
      await third.close();
      const offsets = await committed('g6', topic);
      expect(offsets.reduce((sum, offset) => sum + Math.max(0, offset), 0)).toBe(1200);
    });
  });

  test('the program of the README prints what it says', async () => {
    const { expected, run } = readmeProgram(new URL('../../README.md', import.meta.url));
    await admin.createTopics({ topics: [{ topic: 'orders' }], waitForLeaders: true });
    const modules = { '@batchwise/kafka': batchwiseKafka, kafkajs };
    expect(await run(modules, { 'localhost:9092': server.broker })).toBe(expected);
  });

  test('without a broker, messages fail with UNAVAILABLE', async () => {
    const topic = await newTopic();
    const retry = { retries: 1, initialRetryTime: 10 };
    const producer = new Kafka({ brokers: [server.broker], logLevel: logLevel.NOTHING, retry }).producer({
      createPartitioner: trackPartitions(Partitioners.DefaultPartitioner),
    });
    await producer.connect();
    onTestFinished(() => producer.disconnect());
    const batcher = publishBatcher(producer, { topic });
    await batcher.submit({ value: 'x' });
    await admin.disconnect();
    await server.stop();
    await expect(batcher.submit({ value: 'y' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      cause: expect.any(Error),
    });
  });
});
