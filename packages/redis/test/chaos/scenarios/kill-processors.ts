/** Processors are killed at random, each over items that it holds, under a steady load, and others take their place. */
import { startRedis } from '../../support/redis-server.js';
import { AnswerWatch } from '../answer-watch.js';
import { allAnswered, type ChaosReport, type Progress } from '../chaos-report.js';
import { freezeOverItems } from '../freeze-over-items.js';
import { type Program, startProcessor } from '../start-program.js';
import { TestQueue } from '../test-queue.js';

export interface KillProcessorsOptions {
  readonly kills: number;
  readonly requestsPerSecond: number;
  readonly processors?: number;
}

export async function killProcessors(
  { kills, requestsPerSecond, processors = 3 }: KillProcessorsOptions,
  progress: Progress = () => {},
): Promise<ChaosReport> {
  const redis = await startRedis();
  const queue = new TestQueue(redis.url);
  const watch = await AnswerWatch.start(redis.port);
  const options = {
    url: redis.url,
    queue: queue.queue,
    leaseMs: 800,
    workMs: 20,
    concurrency: 2,
    // By chance one may be killed over an innocent item again and again: poison is another test's matter.
    maxDeliveries: 100,
  };
  const running: Program[] = [];
  let takenOver = 0;
  const count = ({ said }: Program) => {
    for (const { items } of said<{ event: 'taken-over'; items: number }>('taken-over')) takenOver += items;
  };
  try {
    running.push(...(await Promise.all(Array.from({ length: processors }, () => startProcessor(options)))));
    const load = queue.load();
    load.start(requestsPerSecond);
    for (let kill = 1; kill <= kills; kill += 1) {
      const [victim] = running.splice(Math.floor(Math.random() * running.length), 1) as [Program];
      await freezeOverItems(victim, queue.inspector);
      await victim.child.kill();
      count(victim);
      running.push(await startProcessor(options));
      progress(kill, kills);
    }
    await load.stop();
    for (const program of running) count(program);
    return {
      requests: load.count,
      outcomes: queue.ledger.outcomes,
      figures: { kills, 'taken over': takenOver, 'left in the queue': await queue.inspector.outstanding() },
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
