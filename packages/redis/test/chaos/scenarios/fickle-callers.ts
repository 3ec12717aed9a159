/**
 * Callers that give up at any moment, by deadline or by cancelling, of any priority: those who wait are answered, and the
 * processors go on as if nothing had been.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { startRedis } from '../../support/redis-server.js';
import { AnswerWatch } from '../answer-watch.js';
import type { ChaosReport, Progress } from '../chaos-report.js';
import type { ChaosItem } from '../load.js';
import { TestQueue } from '../test-queue.js';

export interface FickleCallersOptions {
  readonly rounds: number;
  readonly callers: number;
  /** After how long a round counts as stuck; by default without end, which the test's own time-out notices. */
  readonly patienceMs?: number;
}

export async function fickleCallers(
  { rounds, callers, patienceMs }: FickleCallersOptions,
  progress: Progress = () => {},
): Promise<ChaosReport> {
  const redis = await startRedis();
  const watch = await AnswerWatch.start(redis.port);
  const wrong: string[] = [];
  const outcomes: Record<string, number> = {};
  let requests = 0;
  try {
    for (let round = 1; round <= rounds; round += 1) {
      const queue = new TestQueue(redis.url);
      const options = { concurrency: 1 + below(3), maxBatchSize: 1 + below(8), leaseMs: 1_000_000 };
      queue.processor(options, async (items: ChaosItem[]) => {
        await delay(below(10));
        return items.map(({ id }) => ({ id }));
      });
      const load = queue.load();
      const fickle = Array.from({ length: callers }, async () => {
        await delay(below(100));
        const cancel = new AbortController();
        const priority = below(3) - 1;
        const patience = below(3) === 0 ? { timeoutMs: 1 + below(30) } : { signal: cancel.signal };
        const request = load.request({ priority, ...patience });
        if (below(2) === 0) await delay(below(30)).then(() => cancel.abort());
        await request;
      });
      const faithful = Array.from({ length: 10 }, () => load.request({ priority: below(3) - 1 }));
      const all = Promise.all([...fickle, ...faithful]).then(() => load.request());
      const isSettled = all.then(() => false);
      const isStuck = await (patienceMs === undefined
        ? isSettled
        : Promise.race([isSettled, delay(patienceMs, true)]));
      if (isStuck)
        wrong.push(`round ${round} is stuck: ${JSON.stringify({ ...options, ...queue.ledger.outcomes })}`);
      else wrong.push(...queue.ledger.audit(), ...queue.executedAgain().map((who) => `executed ${who}`));
      for (const [outcome, count] of Object.entries(queue.ledger.outcomes)) {
        outcomes[outcome] = (outcomes[outcome] ?? 0) + count;
      }
      requests += load.count;
      await queue[Symbol.asyncDispose]();
      progress(round, rounds);
    }
    // A processor refuses what it cannot answer in time, as a batcher does.
    const known = ['answered', 'DEADLINE_EXCEEDED', 'CANCELLED', 'OVERLOADED'];
    const strange = Object.keys(outcomes).filter((outcome) => !known.includes(outcome));
    return {
      requests,
      outcomes,
      figures: { rounds, 'answers written': watch.written },
      wrong: [...wrong, ...strange, ...(await watch.audit(outcomes.answered ?? 0))],
    };
  } finally {
    await watch[Symbol.asyncDispose]();
    await redis.stop();
  }
}

function below(end: number): number {
  return Math.floor(Math.random() * end);
}
