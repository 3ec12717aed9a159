/** Many callers at a time: none is lost. */
import { startRedis } from '../../support/redis-server.js';
import { AnswerWatch } from '../answer-watch.js';
import { allAnswered, type ChaosReport } from '../chaos-report.js';
import { TestQueue } from '../test-queue.js';

export interface ManyAtOnceOptions {
  readonly requests: number;
  readonly concurrent: number;
}

export async function manyAtOnce({ requests, concurrent }: ManyAtOnceOptions): Promise<ChaosReport> {
  const redis = await startRedis();
  const queue = new TestQueue(redis.url);
  const watch = await AnswerWatch.start(redis.port);
  try {
    queue.processor();
    const load = queue.load();
    await load.run(requests, concurrent);
    const again = queue.executedAgain();
    return {
      requests: load.count,
      outcomes: queue.ledger.outcomes,
      figures: { concurrent, 'left in the queue': await queue.inspector.outstanding() },
      wrong: [
        ...allAnswered(queue.ledger, requests),
        ...(await watch.audit(queue.ledger.count('answered'))),
        ...again.map((who) => `executed ${who}`),
      ],
    };
  } finally {
    await queue[Symbol.asyncDispose]();
    await watch[Symbol.asyncDispose]();
    await redis.stop();
  }
}
