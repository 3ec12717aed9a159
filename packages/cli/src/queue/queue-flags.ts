/** The flags of a queue and of its Redis. Precedence: flags, environment, defaults. */
import { connectionFrom, DEFAULT_QUEUE, queueFrom, type RedisQueueOptions } from '@batchwise/redis';
import type { Command } from 'commander';
import type { Terminal } from '../terminal/terminal.js';

export interface QueueFlags {
  readonly url?: string;
  readonly queue?: string;
}

export function addQueueFlags(command: Command): Command {
  return command
    .option('--queue <name>', `name of the queue (default: REDIS__STREAM_KEY_REQUEST, else ${DEFAULT_QUEUE})`)
    .option('--url <url>', 'URL of Redis (default: REDIS__URL, REDIS__HOST, else redis://localhost:6379)');
}

export function queueAddress(
  { url, queue }: QueueFlags,
  env: Terminal['env'],
): RedisQueueOptions & { readonly queue: string } {
  return { ...connectionFrom({ url }, env), queue: queueFrom(queue, env) };
}
