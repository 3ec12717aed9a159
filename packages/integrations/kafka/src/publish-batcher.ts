/** A batcher that sends messages with `producer.sendBatch()`. Each caller gets the place of its own message. */
import { type BatchContext, Batcher, type BatcherOptions, BatchwiseError, type Results } from 'batchwise';
import type { CompressionTypes, Message, Producer, RecordMetadata } from 'kafkajs';
import { BATCH_OVERHEAD_BYTES, type OutgoingRecord, outgoingRecord } from './outgoing-record.js';
import { partitionOf } from './track-partitions.js';

export interface OutgoingMessage extends Message {
  /** @default the option `topic` */
  readonly topic?: string;
}

export interface Published {
  readonly topic: string;
  /** Undefined if the producer was created without `trackPartitions`. */
  readonly partition: number | undefined;
  /** Undefined if the producer was created without `trackPartitions`. */
  readonly offset: string | undefined;
}

export interface PublishOptions extends Omit<BatcherOptions<OutgoingMessage>, 'concurrency'> {
  /** The topic of messages that name none. */
  readonly topic?: string | undefined;
  /**
   * The most bytes of a record batch, before compression. A message that is larger fails with `INVALID_ITEM`; a batch
   * that is larger is sent in parts. Should be the `max.message.bytes` of the topics: Kafka rejects a larger record
   * batch with all its messages.
   * @default 1048588 (Kafka's default)
   */
  readonly maxMessageBytes?: number | undefined;
  /** @default CompressionTypes.None */
  readonly compression?: CompressionTypes | undefined;
}

const MAX_MESSAGE_BYTES = 1_048_588;
const MAX_BATCH_SIZE = 500;

/** Resolves each message when all in-sync replicas have it. */
export function publishBatcher(
  producer: Pick<Producer, 'sendBatch'>,
  options: PublishOptions = {},
): Batcher<OutgoingMessage, Published> {
  const { topic, maxMessageBytes = MAX_MESSAGE_BYTES, compression, ...batcherOptions } = options;
  if (!Number.isInteger(maxMessageBytes) || maxMessageBytes < 1) {
    throw invalidOption(`maxMessageBytes: expected a whole number above 0, got ${String(maxMessageBytes)}.`);
  }
  if ((batcherOptions as BatcherOptions<OutgoingMessage>).concurrency !== undefined) {
    throw invalidOption(
      'concurrency: not an option of publishBatcher(): one batch at a time keeps the order.',
    );
  }
  let hasWarned = false;
  const send = async (records: readonly OutgoingRecord[]) => {
    const outcomes = await sendRecords(producer, records, compression);
    if (!hasWarned && records.some((record, index) => mayBeLost(record, outcomes[index]))) {
      hasWarned = true;
      warnOfLoss();
    }
    return outcomes;
  };
  return new Batcher<OutgoingMessage, Published>(
    (items, context) => publishAll(items, context, { topic, maxMessageBytes, send }),
    { name: 'kafka', maxBatchSize: MAX_BATCH_SIZE, ...batcherOptions },
  );
}

type Outcome = Published | Error;

interface Sending {
  readonly topic: string | undefined;
  readonly maxMessageBytes: number;
  /** Of one topic, together no larger than a record batch may be. */
  send(records: readonly OutgoingRecord[]): Promise<readonly Outcome[]>;
}

/** Topics are independent: one that does not exist fails only its own messages. The parts of a topic keep the order. */
async function publishAll(
  items: readonly OutgoingMessage[],
  context: BatchContext,
  { topic, maxMessageBytes, send }: Sending,
): Promise<Results<never>> {
  const indexes = new Map<OutgoingRecord, number>();
  for (const [index, item] of items.entries()) {
    try {
      const record = outgoingRecord(item, item.topic ?? topic);
      checkSize(record, maxMessageBytes);
      indexes.set(record, index);
    } catch (error) {
      context.answer(index, invalidItem(error));
    }
  }
  await Promise.all(
    byTopic(indexes.keys()).map(async (records) => {
      for (const part of parts(records, maxMessageBytes)) {
        if (context.signal.aborted) return;
        for (const [position, outcome] of (await send(part)).entries()) {
          const record = part[position];
          const index = record === undefined ? undefined : indexes.get(record);
          if (index !== undefined) context.answer(index, outcome);
        }
      }
    }),
  );
  return context.answered;
}

function byTopic(records: Iterable<OutgoingRecord>): OutgoingRecord[][] {
  const topics = new Map<string, OutgoingRecord[]>();
  for (const record of records) {
    const known = topics.get(record.topic);
    if (known === undefined) topics.set(record.topic, [record]);
    else known.push(record);
  }
  return [...topics.values()];
}

/** All messages of a partition go into one record batch, and any number of them may be of one partition. */
function* parts(records: readonly OutgoingRecord[], maxBytes: number): Generator<readonly OutgoingRecord[]> {
  let part: OutgoingRecord[] = [];
  let bytes = BATCH_OVERHEAD_BYTES;
  for (const record of records) {
    if (part.length > 0 && bytes + record.bytes > maxBytes) {
      yield part;
      part = [];
      bytes = BATCH_OVERHEAD_BYTES;
    }
    part.push(record);
    bytes += record.bytes;
  }
  if (part.length > 0) yield part;
}

async function sendRecords(
  producer: Pick<Producer, 'sendBatch'>,
  records: readonly OutgoingRecord[],
  compression: CompressionTypes | undefined,
): Promise<readonly Outcome[]> {
  const topic = records[0]?.topic ?? '';
  try {
    const acknowledged = await producer.sendBatch({
      topicMessages: [{ topic, messages: records.map(({ message }) => message) }],
      ...(compression === undefined ? {} : { compression }),
    });
    return places(records, acknowledged);
  } catch (error) {
    const failed = sendError(topic, error);
    return records.map(() => failed);
  }
}

/** The messages of a partition have consecutive offsets, in the order in which they were passed to kafkajs. */
function places(records: readonly OutgoingRecord[], acknowledged: readonly RecordMetadata[]): Outcome[] {
  const nextOffsets = new Map<number, bigint>();
  for (const { partition, baseOffset, offset } of acknowledged) {
    nextOffsets.set(partition, BigInt(baseOffset ?? offset ?? -1));
  }
  return records.map(({ topic, message }) => {
    const partition = partitionOf(message);
    const asked = partition ?? message.partition;
    // kafkajs leaves out messages for a partition that does not exist, without an error.
    if (asked !== undefined && !nextOffsets.has(asked)) return notWritten(topic, asked);
    const offset = partition === undefined ? undefined : nextOffsets.get(partition);
    if (partition === undefined || offset === undefined || offset < 0n) {
      return { topic, partition, offset: undefined };
    }
    nextOffsets.set(partition, offset + 1n);
    return { topic, partition, offset: String(offset) };
  });
}

/** See track-partitions.ts. Which partitioner a producer has shows only when it has sent. */
function mayBeLost({ message }: OutgoingRecord, outcome: Outcome | undefined): boolean {
  const hasKey = message.key !== undefined && message.key !== null;
  const isUntracked = !(outcome instanceof Error) && partitionOf(message) === undefined;
  return isUntracked && !hasKey && message.partition === undefined;
}

function warnOfLoss(): void {
  process.emitWarning(
    'publishBatcher(): a message without a key was sent by a producer without trackPartitions(). When kafkajs retries a part of a batch, it can lose such messages and repeat others. Create the producer with { createPartitioner: trackPartitions(Partitioners.DefaultPartitioner) }.',
    { code: 'BATCHWISE_KAFKA_PARTITIONER' },
  );
}

function checkSize({ bytes }: OutgoingRecord, maxMessageBytes: number): void {
  const size = bytes + BATCH_OVERHEAD_BYTES;
  if (size <= maxMessageBytes) return;
  throw new RangeError(`expected at most ${maxMessageBytes} bytes (maxMessageBytes), got up to ${size}.`);
}

function invalidOption(message: string): BatchwiseError {
  return new BatchwiseError('INVALID_OPTION', message);
}

function invalidItem(error: unknown): BatchwiseError {
  const message = error instanceof Error ? error.message : String(error);
  return new BatchwiseError('INVALID_ITEM', `The message cannot be sent: ${message}`, { cause: error });
}

function notWritten(topic: string, partition: number): BatchwiseError {
  return new BatchwiseError(
    'INVALID_ITEM',
    `Kafka acknowledged nothing for partition ${partition} of topic ${topic}, so the message is not written there. Does the partition exist?`,
  );
}

function sendError(topic: string, error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  if (!isTemporary(error)) return error;
  return new BatchwiseError(
    'UNAVAILABLE',
    `The messages to topic ${topic} were not acknowledged: ${error.message}. They may or may not be written.`,
    { cause: error },
  );
}

/** Whether kafkajs retried in vain. It wraps an error that was worth a retry in one that is not. */
function isTemporary(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { retriable } = error as Error & { readonly retriable?: boolean };
  return retriable === true || /disconnecting/.test(error.message) || isTemporary(error.cause);
}
