/** Clients and processors behind a proxy that leads to another Redis all of a sudden. */
import { TestQueue } from '../chaos/test-queue.js';
import { startCutProxy } from './cut-proxy.js';
import { eventually } from './eventually.js';
import { forThisTest } from './for-this-test.js';
import { type RedisServer, startRedis } from './redis-server.js';

/** A client behind a proxy, and the same queue without one. */
export async function behindProxy(port: number) {
  const proxy = await forThisTest(startCutProxy(port));
  const queue = await forThisTest(new TestQueue(proxy.url));
  const outside = await forThisTest(new TestQueue(`redis://127.0.0.1:${port}`, queue.queue));
  return { proxy, queue, outside };
}

/** A master and its replica; `failOver()` leads the proxy to the replica, which lacks what came after `lag()`. */
export async function withReplica() {
  // Not the 5 s that it would wait for more replicas to come.
  const master = await forThisTest(startRedis({ settings: ['repl-diskless-sync-delay 0'] }));
  const settings = [`replicaof 127.0.0.1 ${master.port}`];
  const replica = await forThisTest(startRedis({ settings }));
  const { proxy, queue, outside } = await behindProxy(master.port);
  const promoted = await forThisTest(new TestQueue(replica.url, queue.queue));
  return {
    ...{ master, queue, outside, promoted },
    async lag() {
      const offset = async (server: RedisServer) =>
        /^master_repl_offset:(\d+)/m.exec(await server.cli('INFO', 'replication'))?.[1];
      await eventually('the replica to have all', async () => {
        const info = await replica.cli('INFO', 'replication');
        return info.includes('master_link_status:up') && (await offset(replica)) === (await offset(master));
      });
      await replica.cli('REPLICAOF', 'NO', 'ONE');
    },
    failOver: () => proxy.leadTo(replica.port),
  };
}
