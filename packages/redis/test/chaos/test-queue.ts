/** A queue of its own, with clients and processors in this process, its books and a look from outside. */
import { randomUUID } from 'node:crypto';
import {
  RedisBatcher,
  type RedisBatcherOptions,
  RedisProcessor,
  type RedisProcessorOptions,
} from '@batchwise/redis';
import type { BatchContext, Handler } from 'batchwise';
import { Ledger } from '../support/ledger.js';
import { type ChaosAnswer, type ChaosItem, Load } from './load.js';
import { QueueInspector } from './queue-inspector.js';

type Client = RedisBatcher<ChaosItem, ChaosAnswer>;
type Processor = RedisProcessor<ChaosItem, ChaosAnswer>;

export class TestQueue implements AsyncDisposable {
  readonly url: string;
  readonly queue: string;
  readonly ledger = new Ledger();
  readonly inspector: QueueInspector;
  /** How often each item was executed by the processors of this process. */
  readonly executions = new Map<number, number>();
  readonly #started: { destroy(): void }[] = [];

  constructor(url: string, queue = `q-${randomUUID()}`) {
    this.url = url;
    this.queue = queue;
    this.inspector = new QueueInspector(url, this.queue);
  }

  client(options: Partial<RedisBatcherOptions<ChaosItem>> = {}): Client {
    return this.#keep(new RedisBatcher({ url: this.url, queue: this.queue, ...options }));
  }

  load(options: Partial<RedisBatcherOptions<ChaosItem>> = {}): Load {
    return new Load(this.client(options), this.ledger);
  }

  /** Each execution is counted. Answers are the items' ids, unless there is a handler. */
  processor(
    options: Partial<RedisProcessorOptions<ChaosItem>> = {},
    handler: Handler<ChaosItem, ChaosAnswer> = (items) => items.map(({ id }) => ({ id })),
  ): Processor {
    const counted = (items: ChaosItem[], context: BatchContext) => {
      for (const { id } of items) this.executions.set(id, (this.executions.get(id) ?? 0) + 1);
      return handler(items, context);
    };
    return this.#keep(new RedisProcessor(counted, { url: this.url, queue: this.queue, ...options }));
  }

  /** Items that were executed more than once, a sentence each. */
  executedAgain(): string[] {
    return [...this.executions]
      .filter(([, count]) => count > 1)
      .map(([id, count]) => `${id}: ${count} times`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#started) one.destroy();
    await this.inspector[Symbol.asyncDispose]();
  }

  #keep<T extends { destroy(): void }>(started: T): T {
    this.#started.push(started);
    return started;
  }
}
