/** Ours, with all its promises. */
import { RedisBatcher, RedisProcessor } from '@batchwise/redis';
import type { Contender } from '../contender.js';
import { type Item, MAX_BATCH_SIZE } from '../item.js';

const QUEUE = 'bench';

export const batchwise: Contender = {
  async connect(url) {
    const batcher = new RedisBatcher<Item, Item>({ url, queue: QUEUE, maxBacklog: 10_000 });
    return {
      submit: (item) => batcher.submit(item),
      close: () => batcher.close(),
    };
  },

  async process(url, handler) {
    const processor = new RedisProcessor(handler, { url, queue: QUEUE, maxBatchSize: MAX_BATCH_SIZE });
    await processor.ready;
    return { close: () => processor.close() };
  },
};
