/** Commands into pipelines of ioredis. */
import { Batcher, type BatcherOptions, BatchwiseError } from 'batchwise';
import { invalidCommand, type RedisArgument, type RedisCommand } from './redis-command.js';

export type PipelineOptions = BatcherOptions<RedisCommand>;

/** What is used of a `Redis` of ioredis. */
export interface PipelineClient {
  readonly isCluster?: boolean;
  pipeline(): {
    call(...command: [name: string, ...args: RedisArgument[]]): unknown;
    exec(): Promise<[error: Error | null, reply: unknown][] | null>;
  };
}

/** Redis executes a pipeline of this length in well below a millisecond, during which it serves nobody else. */
const MAX_BATCH_SIZE = 256;

/** Redis executes one pipeline while the next one is prepared. On one connection, their order is kept. */
const CONCURRENCY = 2;

/**
 * Each caller gets the reply of its command, as the method of ioredis returns it (HGETALL: an object), or the error of
 * its command. Commands are executed in the order of submission. `Reply` is for batchers of one kind of command:
 * `pipelineBatcher<string | null>(redis)` for GET.
 */
export function pipelineBatcher<Reply = unknown>(
  redis: PipelineClient,
  options: PipelineOptions = {},
): Batcher<RedisCommand, Reply> {
  if (typeof redis?.pipeline !== 'function') {
    throw new BatchwiseError('INVALID_OPTION', 'Expected a Redis of ioredis as the first argument.');
  }
  if (redis.isCluster) {
    throw new BatchwiseError(
      'INVALID_OPTION',
      'Expected a single Redis, got a Cluster: a pipeline goes to one node, and commands of different callers have ' +
        'keys on different nodes. Use the option enableAutoPipelining of ioredis instead.',
    );
  }
  const defaults = { name: 'redis commands', maxBatchSize: MAX_BATCH_SIZE, concurrency: CONCURRENCY };
  return new Batcher((commands) => runPipeline<Reply>(redis, commands), { ...defaults, ...options });
}

async function runPipeline<Reply>(
  redis: PipelineClient,
  commands: readonly RedisCommand[],
): Promise<(Reply | Error)[]> {
  const invalid = commands.map(invalidCommand);
  const valid = commands.filter((_, i) => invalid[i] === undefined);
  const replies = valid.length > 0 ? await repliesOf(redis, valid) : [];
  let next = 0;
  return invalid.map((error) => {
    if (error !== undefined) return error;
    const [failed, reply] = replies[next++] ?? [new Error('ioredis returned no reply for this command.')];
    return failed ?? (reply as Reply);
  });
}

async function repliesOf(redis: PipelineClient, commands: readonly RedisCommand[]) {
  const pipeline = redis.pipeline();
  // ioredis converts replies by the name of the command in lower case.
  for (const [name, ...args] of commands) pipeline.call(name.toLowerCase(), ...args);
  return (await pipeline.exec()) ?? [];
}
