/** All of it together: processors die and stand still, connections break, Redis dies and comes back, under a steady load. */
import { setTimeout as delay } from 'node:timers/promises';
import { startCutProxy } from '../../support/cut-proxy.js';
import { eventually } from '../../support/eventually.js';
import { startRedis } from '../../support/redis-server.js';
import { allAnswered, type ChaosReport, type Progress } from '../chaos-report.js';
import { type Program, startProcessor } from '../start-program.js';
import { TestQueue } from '../test-queue.js';

export interface EverythingOptions {
  readonly faults: number;
  readonly requestsPerSecond: number;
}

const FAULTS = ['kill', 'freeze', 'cut', 'refuse', 'restart'] as const;

export async function everythingAtOnce(
  { faults, requestsPerSecond }: EverythingOptions,
  progress: Progress = () => {},
): Promise<ChaosReport> {
  const redis = await startRedis({ aof: true, settings: ['appendfsync always'] });
  const proxy = await startCutProxy(redis.port);
  const queue = new TestQueue(proxy.url);
  const options = { url: proxy.url, queue: queue.queue, leaseMs: 800, workMs: 10, maxDeliveries: 100 };
  const running: Program[] = [];
  const frozen: { readonly program: Program; readonly until: number }[] = [];
  const done: Record<string, number> = {};
  try {
    running.push(...(await Promise.all(Array.from({ length: 3 }, () => startProcessor(options)))));
    const load = queue.load();
    await load.request();
    load.start(requestsPerSecond);
    for (let fault = 1; fault <= faults; fault += 1) {
      const kind = FAULTS[fault % FAULTS.length] as (typeof FAULTS)[number];
      const victim = running[Math.floor(Math.random() * running.length)] as Program;
      if (kind === 'kill') {
        running.splice(running.indexOf(victim), 1);
        await victim.child.kill();
        running.push(await startProcessor(options));
      } else if (kind === 'freeze') {
        victim.child.stop();
        frozen.push({ program: victim, until: fault + 4 });
      } else if (kind === 'cut') {
        await proxy.cutAfterWrite();
      } else if (kind === 'refuse') {
        await proxy.refuse(true);
        proxy.cut();
        await delay(100 * Math.random());
        await proxy.refuse(false);
      } else {
        await redis.kill();
        await redis.restart();
      }
      for (const { program, until } of frozen) if (until === fault) program.child.cont();
      done[kind] = (done[kind] ?? 0) + 1;
      const seen = queue.ledger.count('answered');
      await eventually(
        'answers to go on',
        () => queue.ledger.count('answered') > seen + requestsPerSecond / 20,
      );
      progress(fault, faults);
    }
    for (const { program } of frozen) program.child.cont();
    await load.stop();
    return {
      requests: load.count,
      outcomes: queue.ledger.outcomes,
      figures: { ...done, 'left in the queue': await queue.inspector.outstanding() },
      wrong: allAnswered(queue.ledger, load.count),
    };
  } finally {
    await Promise.all(running.map(({ child }) => child.kill()));
    await queue[Symbol.asyncDispose]();
    await proxy.close();
    await redis.stop();
  }
}
