/**
 * A replica that lags behind takes over, again and again, under a steady load without deadlines: what the master accepted
 * or answered last is gone. Every call is settled, once: answered, or UNAVAILABLE.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { startCutProxy } from '../../support/cut-proxy.js';
import { eventually } from '../../support/eventually.js';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import type { ChaosReport, Progress } from '../chaos-report.js';
import { TestQueue } from '../test-queue.js';

export interface FailOverOptions {
  readonly failovers: number;
  readonly requestsPerSecond: number;
}

/** How long the master goes on alone, at most. */
const MOST_LAG_MS = 200;

export async function failOver(
  { failovers, requestsPerSecond }: FailOverOptions,
  progress: Progress = () => {},
): Promise<ChaosReport> {
  // Not the 5 s that it would wait for more replicas to come.
  const settings = ['repl-diskless-sync-delay 0'];
  let master = await startRedis({ settings });
  let replica = await startRedis({ settings });
  const proxy = await startCutProxy(master.port);
  const queue = new TestQueue(proxy.url);
  try {
    const handler = async (items: { id: number }[]) => {
      await delay(5);
      return items.map(({ id }) => ({ id }));
    };
    for (let i = 0; i < 2; i += 1) queue.processor({ leaseMs: 1000, maxDeliveries: 100 }, handler);
    const load = queue.load();
    await load.request();
    load.start(requestsPerSecond);
    for (let failover = 1; failover <= failovers; failover += 1) {
      await replica.cli('REPLICAOF', '127.0.0.1', master.port);
      await isFollowing(replica);
      await replica.cli('REPLICAOF', 'NO', 'ONE');
      await delay(MOST_LAG_MS * Math.random());
      proxy.leadTo(replica.port);
      [master, replica] = [replica, master];
      const seen = queue.ledger.count('answered');
      await eventually('answers to go on', () => queue.ledger.count('answered') > seen + 20);
      progress(failover, failovers);
    }
    const stopped = load.stop();
    await eventually('all calls to be settled', () => queue.ledger.unsettled === 0).catch(() => {});
    if (queue.ledger.unsettled === 0) await stopped;
    const { answered = 0, UNAVAILABLE: lost = 0, ...others } = queue.ledger.outcomes;
    const wrong = Object.entries(others).map(([outcome, count]) => `${count} calls ended with ${outcome}`);
    return {
      requests: load.count,
      outcomes: queue.ledger.outcomes,
      figures: { failovers, answered, lost },
      wrong: [...queue.ledger.audit(), ...wrong],
    };
  } finally {
    await queue[Symbol.asyncDispose]();
    await proxy.close();
    await Promise.all([master.stop(), replica.stop()]);
  }
}

function isFollowing(replica: RedisServer): Promise<boolean> {
  return eventually('the replica to follow', async () =>
    (await replica.cli('INFO', 'replication')).includes('master_link_status:up'),
  );
}
