/** Messages of a RabbitMQ queue, handled one by one and in batches. Needs AMQP_URL, or RabbitMQ on this machine. */
import { setTimeout as sleep } from 'node:timers/promises';
import { consume, publishBatcher } from '@batchwise/rabbitmq';
import { type ConsumeMessage, connect } from 'amqplib';
import { inParallel } from './in-parallel.js';
import { LARGEST_BATCH, serviceTimeMs } from './model.js';

const MESSAGES = 400;
const CALLERS = 100;
/** Deleted with the connection. */
const QUEUE = 'batchwise-predict';
const FAILED_QUEUE = 'batchwise-predict-failed';

const broker = await startBroker();
const connection = await connect(broker.url);
try {
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue(FAILED_QUEUE, { exclusive: true });
  const deadLetters = { deadLetterExchange: '', deadLetterRoutingKey: FAILED_QUEUE };
  await channel.assertQueue(QUEUE, { exclusive: true, ...deadLetters });
  const publisher = publishBatcher(channel);
  const publish = (content: string) => publisher.submit({ routingKey: QUEUE, content });
  const publishRows = () => inParallel(CALLERS, MESSAGES, (index) => publish(JSON.stringify([index, 1])));

  const published = await publishRows();
  console.log(`${MESSAGES} messages by ${CALLERS} callers, each one confirmed by the broker`);
  console.log(`  publishBatcher: ${perSecond(published)}, ${publisher.stats().batches} batches`);

  console.log('\nThe same messages, handled by a model with 11 ms for one and 13 ms for 200');
  const single = await handledOneByOne();
  console.log(`  one by one: ${perSecond(single)}`);
  await publishRows();
  const batched = await handledInBatches();
  console.log(`  consume():  ${perSecond(batched)}`);
  console.log(`  batched / one by one: ${(single / batched).toFixed(1)}`);

  console.log('\n10 messages, one of them malformed');
  await Promise.all(Array.from({ length: 10 }, (_, i) => publish(i === 3 ? 'malformed' : '[1, 2]')));
  const failed = new Promise<string>((resolve) => {
    channel.consume(FAILED_QUEUE, (message) => resolve(String(message?.content)), { noAck: true });
  });
  await handledInBatches(9);
  console.log(`  moved to the dead-letter queue: ${await failed}`);
  await publisher.close();
} finally {
  await connection.close();
  await broker.stop();
}

/** The seconds until all messages are acknowledged. */
async function handledOneByOne(): Promise<number> {
  const channel = await connection.createChannel();
  await channel.prefetch(1);
  const startedAt = performance.now();
  let handled = 0;
  await new Promise<void>((resolve, reject) => {
    const handle = async (message: ConsumeMessage) => {
      await predictions([JSON.parse(String(message.content)) as number[]]);
      channel.ack(message);
      handled += 1;
      if (handled === MESSAGES) resolve();
    };
    channel.consume(QUEUE, (message) => message !== null && handle(message).catch(reject)).catch(reject);
  });
  await channel.close();
  return (performance.now() - startedAt) / 1000;
}

/** The seconds until that many messages are acknowledged. A message whose result is an error is rejected by itself. */
async function handledInBatches(messages = MESSAGES): Promise<number> {
  const channel = await connection.createChannel();
  const startedAt = performance.now();
  let handled = 0;
  let allHandled = () => {};
  const done = new Promise<void>((resolve) => {
    allHandled = resolve;
  });
  const consumer = await consume(
    channel,
    QUEUE,
    async (batch) => {
      const rows = batch.map(({ content }) => rowOf(String(content)));
      const results = await predictions(rows.filter((row): row is number[] => !(row instanceof Error)));
      handled += results.length;
      if (handled === messages) allHandled();
      return rows.map((row) => (row instanceof Error ? row : results.shift()));
    },
    {
      maxBatchSize: LARGEST_BATCH,
      requeue: false,
      onError: (error) => console.log(`  failed: ${error.message}`),
    },
  );
  await done;
  await consumer.close();
  await channel.close();
  return (performance.now() - startedAt) / 1000;
}

function rowOf(content: string): number[] | Error {
  try {
    return JSON.parse(content) as number[];
  } catch (cause) {
    return new Error(`Expected a list of numbers in JSON, got ${content}.`, { cause });
  }
}

/** As the model does it, without a thread: the time passes here. */
async function predictions(rows: readonly (readonly number[])[]): Promise<number[]> {
  await sleep(serviceTimeMs(rows.length));
  return rows.map((row) => row.reduce((sum, value) => sum + value, 0));
}

function perSecond(seconds: number): string {
  return `${Math.round(MESSAGES / seconds)} messages per second`;
}

interface Broker {
  readonly url: string;
  stop(): Promise<void>;
}

/** The one of AMQP_URL, or one that is started for this program. */
async function startBroker(): Promise<Broker> {
  const url = process.env.AMQP_URL;
  if (url !== undefined) return { url, stop: async () => {} };
  const scripts = new URL('../../../scripts/', import.meta.url);
  const { provideProgram } = await import(`${scripts}test-programs.js`);
  provideProgram('rabbitmq');
  const { startRabbitMq } = (await import(`${scripts}services/rabbitmq.js`)) as {
    startRabbitMq(): Promise<Broker>;
  };
  return startRabbitMq();
}
