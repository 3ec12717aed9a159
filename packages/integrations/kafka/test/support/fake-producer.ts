/** `producer.sendBatch()` of kafkajs on topics in memory: same partitioning, same answers, same silent losses. */
import {
  type ICustomPartitioner,
  type Message,
  Partitioners,
  type PartitionMetadata,
  type ProducerBatch,
  type RecordMetadata,
} from 'kafkajs';

export class FakeProducer {
  /** The messages of each partition, in order; the index is the offset. */
  readonly topics = new Map<string, Message[][]>();
  readonly calls: ProducerBatch[] = [];
  /** Is called for each batch before anything is written; throws what Kafka answers. */
  beforeWrite: (batch: ProducerBatch) => Promise<void> | void = () => {};
  /**
   * The broker of this partition fails once. kafkajs then asks the partitioner again for all messages, and sends those
   * that are now for this partition.
   */
  failingPartition: number | undefined;
  readonly #partitioner: ReturnType<ICustomPartitioner>;

  constructor(
    topics: Readonly<Record<string, number>>,
    createPartitioner: ICustomPartitioner = Partitioners.DefaultPartitioner,
  ) {
    for (const [topic, count] of Object.entries(topics)) {
      this.topics.set(
        topic,
        Array.from({ length: count }, () => []),
      );
    }
    this.#partitioner = createPartitioner();
  }

  async sendBatch(batch: ProducerBatch): Promise<RecordMetadata[]> {
    this.calls.push(batch);
    await this.beforeWrite(batch);
    return (batch.topicMessages ?? []).flatMap(({ topic, messages }) => this.#write(topic, messages));
  }

  #write(topic: string, messages: readonly Message[]): RecordMetadata[] {
    const partitions = this.topics.get(topic);
    if (partitions === undefined) {
      throw Object.assign(new Error('This server does not host this topic-partition'), { retriable: true });
    }
    const partitionMetadata = partitions.map(metadata);
    const bases = new Map<number, number>();
    const write = (isSent: (partition: number) => boolean) => {
      for (const message of messages) {
        const partition = this.#partitioner({ topic, partitionMetadata, message });
        const log = partitions[partition];
        if (log === undefined || !isSent(partition)) continue; // no error for a missing partition, as in kafkajs
        if (!bases.has(partition)) bases.set(partition, log.length);
        log.push(message);
      }
    };
    const { failingPartition } = this;
    write((partition) => partition !== failingPartition);
    if (failingPartition !== undefined) write((partition) => partition === failingPartition);
    return [...bases].map(([partition, base]) => ({
      topicName: topic,
      partition,
      errorCode: 0,
      baseOffset: String(base),
    }));
  }
}

function metadata(_log: unknown, partitionId: number): PartitionMetadata {
  return { partitionErrorCode: 0, partitionId, leader: 1, replicas: [1], isr: [1] };
}
