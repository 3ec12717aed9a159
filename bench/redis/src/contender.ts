/** What a contender in Node has to offer: a client for one process, a processor for another. */
import type { BatchHandler } from './batch-handler.js';
import type { Item } from './item.js';

export interface ContenderClient {
  submit(item: Item): Promise<Item>;
  close(): Promise<void>;
}

export interface ContenderProcessor {
  close(): Promise<void>;
}

export interface Contender {
  connect(url: string): Promise<ContenderClient>;
  /** Resolves when it is ready for requests. */
  process(url: string, handler: BatchHandler): Promise<ContenderProcessor>;
}
