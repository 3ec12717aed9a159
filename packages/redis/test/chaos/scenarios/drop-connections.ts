/**
 * All connections drop several times per lease, as with a load balancer that gives them little time, and processors are
 * killed over the items that they hold. Every request is answered.
 */
import { startCutProxy } from '../../support/cut-proxy.js';
import { startRedis } from '../../support/redis-server.js';
import { allAnswered, type ChaosReport, type Progress } from '../chaos-report.js';
import { freezeOverItems } from '../freeze-over-items.js';
import { type Program, startProcessor } from '../start-program.js';
import { TestQueue } from '../test-queue.js';

export interface DropConnectionsOptions {
  readonly kills: number;
  readonly requestsPerSecond: number;
}

const LEASE_MS = 1000;
const DROPS_PER_LEASE = 3;

export async function dropConnections(
  { kills, requestsPerSecond }: DropConnectionsOptions,
  progress: Progress = () => {},
): Promise<ChaosReport> {
  const redis = await startRedis();
  const proxy = await startCutProxy(redis.port);
  const queue = new TestQueue(redis.url);
  const options = { url: proxy.url, queue: queue.queue, leaseMs: LEASE_MS, workMs: 20, maxDeliveries: 100 };
  const running: Program[] = [];
  let timer: NodeJS.Timeout | undefined;
  try {
    running.push(...(await Promise.all(Array.from({ length: 2 }, () => startProcessor(options)))));
    const load = queue.load({ url: proxy.url });
    await load.request();
    timer = setInterval(() => proxy.cut(), LEASE_MS / DROPS_PER_LEASE);
    load.start(requestsPerSecond);
    for (let kill = 1; kill <= kills; kill += 1) {
      const [victim] = running.splice(Math.floor(Math.random() * running.length), 1) as [Program];
      await freezeOverItems(victim, queue.inspector);
      await victim.child.kill();
      running.push(await startProcessor(options));
      progress(kill, kills);
    }
    await load.stop();
    return {
      requests: load.count,
      outcomes: queue.ledger.outcomes,
      figures: { kills, cuts: proxy.cuts, 'left in the queue': await queue.inspector.outstanding() },
      wrong: allAnswered(queue.ledger, load.count),
    };
  } finally {
    clearInterval(timer);
    await Promise.all(running.map(({ child }) => child.kill()));
    await queue[Symbol.asyncDispose]();
    await proxy.close();
    await redis.stop();
  }
}
