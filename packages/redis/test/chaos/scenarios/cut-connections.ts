/**
 * Connections are cut right after a command was carried out, before its reply: for each kind of command that a client or a
 * processor sends. Nobody dies, so nothing may be lost, and nothing may run twice.
 */
import { loadScript } from '../../../src/connection/script.js';
import { type CutProxy, startCutProxy } from '../../support/cut-proxy.js';
import { startRedis } from '../../support/redis-server.js';
import { AnswerWatch } from '../answer-watch.js';
import { allAnswered, type ChaosReport, type Progress } from '../chaos-report.js';
import { TestQueue } from '../test-queue.js';

export interface CutConnectionsOptions {
  readonly cuts: number;
  readonly requestsPerSecond: number;
}

const COMMANDS: readonly { readonly name: string; readonly text: string }[] = [
  { name: 'submit', text: loadScript('submit').sha1 },
  { name: 'fetch', text: 'XREADGROUP' },
  { name: 'answer', text: loadScript('answer').sha1 },
  { name: 'read replies', text: 'XREAD\r\n' },
  { name: 'renew', text: loadScript('renew').sha1 },
  { name: 'take over', text: loadScript('reclaim').sha1 },
];

export async function cutConnections(
  { cuts, requestsPerSecond }: CutConnectionsOptions,
  progress: Progress = () => {},
): Promise<ChaosReport> {
  const redis = await startRedis();
  const proxy: CutProxy = await startCutProxy(redis.port);
  const queue = new TestQueue(proxy.url);
  const watch = await AnswerWatch.start(redis.port);
  const figures: Record<string, number> = {};
  try {
    // A lease that ends, as a shorter one does on a slow machine, is a reason to run an item again.
    for (let i = 0; i < 2; i += 1) queue.processor({ leaseMs: 1_000_000, maxBatchSize: 16 });
    const load = queue.load();
    await load.request();
    load.start(requestsPerSecond);
    for (let cut = 1; cut <= cuts; cut += 1) {
      // A heartbeat comes, and a look for items to take over, after each reconnect.
      const isBeat = cut % 20 === 0;
      const kinds = isBeat ? [2, 4 + ((cut / 20) % 2)] : [cut % 4];
      const commands = kinds.map((kind) => COMMANDS[kind] as (typeof COMMANDS)[number]);
      await Promise.all(commands.map(({ text }) => proxy.cutAfterWrite(text)));
      for (const { name } of commands) figures[`cut on ${name}`] = (figures[`cut on ${name}`] ?? 0) + 1;
      progress(cut, cuts);
    }
    await load.stop();
    const again = queue.executedAgain();
    return {
      requests: load.count,
      outcomes: queue.ledger.outcomes,
      figures: { cuts, ...figures, 'executed more than once': again.length },
      wrong: [
        ...allAnswered(queue.ledger, load.count),
        ...(await watch.audit(queue.ledger.count('answered'))),
        ...again.map((who) => `executed ${who}`),
      ],
    };
  } finally {
    await queue[Symbol.asyncDispose]();
    await watch[Symbol.asyncDispose]();
    await proxy.close();
    await redis.stop();
  }
}
