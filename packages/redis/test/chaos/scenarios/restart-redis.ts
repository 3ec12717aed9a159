/** Redis is killed, without a chance to write anything, and started again from its append-only file. */
import { setTimeout as delay } from 'node:timers/promises';
import { startRedis } from '../../support/redis-server.js';
import { allAnswered, type ChaosReport, type Progress } from '../chaos-report.js';
import { TestQueue } from '../test-queue.js';

export interface RestartRedisOptions {
  readonly restarts: number;
  readonly requestsPerSecond: number;
}

export async function restartRedis(
  { restarts, requestsPerSecond }: RestartRedisOptions,
  progress: Progress = () => {},
): Promise<ChaosReport> {
  // What was answered is on the disk: what Redis promises with anything less is its own affair.
  const redis = await startRedis({ aof: true, settings: ['appendfsync always'] });
  const queue = new TestQueue(redis.url);
  try {
    const handler = async (items: { id: number }[]) => {
      await delay(5);
      return items.map(({ id }) => ({ id }));
    };
    for (let i = 0; i < 2; i += 1) queue.processor({ concurrency: 2 }, handler);
    const load = queue.load();
    await load.request();
    load.start(requestsPerSecond);
    for (let restart = 1; restart <= restarts; restart += 1) {
      const seen = queue.ledger.count('answered');
      await redis.kill();
      await redis.restart();
      while (queue.ledger.count('answered') < seen + requestsPerSecond / 4) await delay(10);
      progress(restart, restarts);
    }
    await load.stop();
    return {
      requests: load.count,
      outcomes: queue.ledger.outcomes,
      figures: {
        restarts,
        'executed more than once': queue.executedAgain().length,
        'left in the queue': await queue.inspector.outstanding(),
      },
      wrong: [...allAnswered(queue.ledger, load.count), ...notRun(queue, load.count)],
    };
  } finally {
    await queue[Symbol.asyncDispose]();
    await redis.stop();
  }
}

function notRun({ executions }: TestQueue, requests: number): string[] {
  return executions.size === requests ? [] : [`${executions.size} of ${requests} items were executed`];
}
