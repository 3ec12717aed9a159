/**
 * A processor stands still in the middle of a batch until others have taken over all that it held, and goes on: it
 * answers what was answered already, and must not be heard.
 */
import { eventually } from '../../support/eventually.js';
import { startRedis } from '../../support/redis-server.js';
import { AnswerWatch } from '../answer-watch.js';
import { allAnswered, type ChaosReport, type Progress } from '../chaos-report.js';
import { freezeOverItems } from '../freeze-over-items.js';
import { type Program, startProcessor } from '../start-program.js';
import { TestQueue } from '../test-queue.js';

export interface FreezeProcessorsOptions {
  readonly freezes: number;
  readonly requestsPerSecond: number;
}

export async function freezeProcessors(
  { freezes, requestsPerSecond }: FreezeProcessorsOptions,
  progress: Progress = () => {},
): Promise<ChaosReport> {
  const redis = await startRedis();
  const queue = new TestQueue(redis.url);
  const watch = await AnswerWatch.start(redis.port);
  const options = { url: redis.url, queue: queue.queue, leaseMs: 600, workMs: 20, maxDeliveries: 100 };
  const running: Program[] = [];
  let stolen = 0;
  try {
    running.push(...(await Promise.all(Array.from({ length: 3 }, () => startProcessor(options)))));
    const load = queue.load();
    load.start(requestsPerSecond);
    for (let freeze = 1; freeze <= freezes; freeze += 1) {
      const victim = running[freeze % running.length] as Program;
      const held = await freezeOverItems(victim, queue.inspector);
      await eventually(
        'the others to take over',
        async () => (await queue.inspector.pending(victim.consumer)) === 0,
      );
      stolen += held;
      victim.child.cont();
      progress(freeze, freezes);
    }
    await load.stop();
    // The last one may still be about to answer.
    await eventually('all to have spoken', async () => (await queue.inspector.pending()) === 0);
    const fenced = running.reduce((sum, program) => sum + program.said('fenced').length, 0);
    return {
      requests: load.count,
      outcomes: queue.ledger.outcomes,
      figures: { freezes, 'taken over from the frozen': stolen, 'answers that were fenced off': fenced },
      wrong: [
        ...allAnswered(queue.ledger, load.count),
        ...(await watch.audit(queue.ledger.count('answered'))),
      ],
    };
  } finally {
    await Promise.all(running.map(({ child }) => child.kill()));
    await watch[Symbol.asyncDispose]();
    await queue[Symbol.asyncDispose]();
    await redis.stop();
  }
}
