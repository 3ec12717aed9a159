/**
 * The methods of a kafkajs consumer that `consume()` uses, on partitions in memory. As in kafkajs, a fetch starts after
 * the last resolved offset, and resolved offsets are committed after each batch.
 */
import type { Consumer, ConsumerRunConfig, EachBatchPayload, KafkaMessage } from 'kafkajs';

type Methods = Pick<Consumer, 'subscribe' | 'run' | 'stop' | 'on' | 'events' | 'logger'>;

const GROUP_JOIN = 'consumer.group_join';

export class FakeConsumer {
  readonly topic = 'orders';
  /** The first offset that is not committed, of each partition. */
  readonly committed: number[] = [];
  readonly errors: string[] = [];
  subscription: unknown;
  config: ConsumerRunConfig = {};
  heartbeats = 0;
  /** Is called for each heartbeat; throws what Kafka answers. */
  onHeartbeat: () => void = () => {};
  isStale = false;
  isRunning = true;
  readonly #partitions: KafkaMessage[][];
  readonly #resolved: number[] = [];
  readonly #paused = new Set<number>();
  readonly #running = new Set<Promise<void>>();
  #onResume = () => {};
  #onJoin: (() => void) | undefined;

  constructor(partitions: readonly (readonly string[])[]) {
    this.#partitions = partitions.map((values) =>
      values.map((value, offset) => ({
        key: null,
        value: Buffer.from(value),
        timestamp: '0',
        attributes: 0,
        offset: String(offset),
        headers: {},
      })),
    );
    for (const partition of this.#partitions.keys()) {
      this.committed[partition] = 0;
      this.#resolved[partition] = 0;
    }
  }

  /** For `consume()`. The type of `on` has an overload for each event, of which one is here. */
  get methods(): Methods {
    return {
      subscribe: async (subscription: unknown) => {
        this.subscription = subscription;
      },
      run: async (config: ConsumerRunConfig = {}) => {
        this.config = config;
        this.#onJoin?.();
      },
      stop: async () => {
        this.isRunning = false;
        await Promise.allSettled(this.#running);
      },
      on: (_name: string, listener: () => void) => {
        this.#onJoin = listener;
        return () => {
          this.#onJoin = undefined;
        };
      },
      events: { GROUP_JOIN },
      logger: () => ({ error: (message: string) => this.errors.push(message) }),
    } as unknown as Methods;
  }

  get isListenedTo(): boolean {
    return this.#onJoin !== undefined;
  }

  /** The partitions are assigned anew; the offsets are those that are committed. */
  join(): void {
    for (const [partition, offset] of this.committed.entries()) this.#resolved[partition] = offset;
    this.#onJoin?.();
  }

  isPaused(partition = 0): boolean {
    return this.#paused.has(partition);
  }

  /** Resolves when a paused partition continues. */
  resumed(): Promise<void> {
    return new Promise((resolve) => {
      this.#onResume = resolve;
    });
  }

  /** Fetches up to `count` messages and calls `eachBatch`, as kafkajs does. */
  fetch(partition = 0, count = Number.POSITIVE_INFINITY): Promise<void> {
    const from = this.#resolved[partition] ?? 0;
    const messages = this.#partitions[partition]?.slice(from, from + count) ?? [];
    const run = this.#eachBatch(partition, messages);
    this.#running.add(run);
    const done = () => this.#running.delete(run);
    run.then(done, done);
    return run;
  }

  async #eachBatch(partition: number, messages: KafkaMessage[]): Promise<void> {
    try {
      await this.config.eachBatch?.(this.#payload(partition, messages));
    } finally {
      this.#commit();
    }
  }

  #payload(partition: number, messages: KafkaMessage[]): EachBatchPayload {
    const batch = { topic: this.topic, partition, messages } as unknown as EachBatchPayload['batch'];
    return {
      batch,
      resolveOffset: (offset) => {
        this.#resolved[partition] = Number(offset) + 1;
      },
      heartbeat: async () => {
        this.heartbeats += 1;
        this.onHeartbeat();
      },
      pause: () => {
        this.#paused.add(partition);
        return () => {
          this.#paused.delete(partition);
          this.#onResume();
        };
      },
      commitOffsetsIfNecessary: async () => this.#commit(),
      uncommittedOffsets: () => ({ topics: [] }),
      isRunning: () => this.isRunning,
      isStale: () => this.isStale,
    };
  }

  #commit(): void {
    for (const [partition, offset] of this.#resolved.entries()) this.committed[partition] = offset;
  }
}
