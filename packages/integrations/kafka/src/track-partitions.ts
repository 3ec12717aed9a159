/**
 * A partitioner that remembers the partition of each message of a batcher.
 *
 * kafkajs tells the first offset of each partition, but not which message went to which partition. And it asks the
 * partitioner again when it retries: if one broker of several failed, messages without a key change places, so that
 * some are sent twice and others never, without an error (kafkajs 2.2.4, sendMessages.js).
 */
import type { ICustomPartitioner, Message } from 'kafkajs';

/** Messages of batchers, and their partitions as soon as they are chosen. */
const partitions = new WeakMap<Message, number | undefined>();

/** For `kafka.producer({ createPartitioner: trackPartitions(Partitioners.DefaultPartitioner) })`. */
export function trackPartitions(createPartitioner: ICustomPartitioner): ICustomPartitioner {
  return () => {
    const partitioner = createPartitioner();
    return (args) => {
      const { message } = args;
      const partition = partitions.get(message) ?? partitioner(args);
      if (partitions.has(message)) partitions.set(message, partition);
      return partition;
    };
  };
}

/** From now on the partition of this object is remembered. */
export function track(message: Message): Message {
  partitions.set(message, undefined);
  return message;
}

/** Undefined if the producer of the message does not use `trackPartitions`. */
export function partitionOf(message: Message): number | undefined {
  return partitions.get(message);
}
