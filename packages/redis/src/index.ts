/**
 * Batching across machines: many processes submit, few run the batches.
 *
 *     import { RedisBatcher, RedisProcessor } from '@batchwise/redis';
 *
 *     // Where the model is:
 *     const processor = new RedisProcessor((rows: number[][]) => model.run(rows), { queue: 'digits', maxBatchSize: 64 });
 *
 *     // Wherever requests come in:
 *     const digits = new RedisBatcher<number[], number>({ queue: 'digits' });
 *     const digit = await digits.submit(row, { timeoutMs: 500 });
 */
export type { PayloadKind } from './codec.js';
export type { ConnectionOptions } from './connection/connection-options.js';
export { connectionFrom, DEFAULT_QUEUE, queueFrom } from './connection/environment.js';
export type { DeadLetter } from './dead-letter.js';
export type { ProcessorNotice, ProcessorStats } from './processor-report.js';
export type { LevelName, LevelStatus, ProcessorStatus, QueueStatus } from './queue-status.js';
export { RedisBatcher } from './redis-batcher.js';
export type { RedisBatcherOptions, RedisProcessorOptions } from './redis-options.js';
export { RedisProcessor } from './redis-processor.js';
export {
  type DeadLettersOptions,
  type LettersOutcome,
  RedisQueue,
  type RedisQueueOptions,
} from './redis-queue.js';
