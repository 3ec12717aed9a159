/**
 * Single Redis commands of many callers, sent in pipelines.
 *
 *     import { pipelineBatcher } from '@batchwise/redis-commands';
 *     import { Redis } from 'ioredis';
 *
 *     const redis = new Redis();
 *     const commands = pipelineBatcher(redis);
 *     await commands.submit(['SET', 'name', 'Ada']);
 *     console.log(await Promise.all([commands.submit(['GET', 'name']), commands.submit(['INCR', 'visits'])]));
 *     await commands.close();
 *     await redis.quit();
 */

export { type PipelineClient, type PipelineOptions, pipelineBatcher } from './pipeline-batcher.js';
export type { RedisArgument, RedisCommand } from './redis-command.js';
