/** A master, its replica, and three sentinels that put the replica in its place when it is gone. */
import { eventually } from './eventually.js';
import { type RedisServer, startRedis } from './redis-server.js';

const masterName = 'mymaster';
const sentinelCount = 3;

/**
 * How often they look, in milliseconds: with the usual 10 s between two INFOs a test would do nothing but wait. No
 * shorter than this, because other times follow from these: a replica not heard of for five PING-PERIODs is not chosen,
 * and one that was promoted is made a replica again after four PUBLISH-PERIODs by those who have not heard why.
 */
const impatience = ['INFO-PERIOD', 200, 'PUBLISH-PERIOD', 750, 'ASK-PERIOD', 100];

/** Once the sentinels know each other and the replica. Who starts it stops it, or says `await using`. */
export async function startSentinel(): Promise<RedisSentinel> {
  const servers: RedisServer[] = [];
  const started = async (starting: Promise<RedisServer>) => {
    const server = await starting;
    servers.push(server);
    return server;
  };
  try {
    // Not the 5 s that it would wait for more replicas to come.
    const settings = ['repl-diskless-sync-delay 0'];
    const master = await started(startRedis({ settings }));
    const replica = await started(
      startRedis({ settings: [...settings, `replicaof 127.0.0.1 ${master.port}`] }),
    );
    await isFollowing(replica, master);
    const sentinels: RedisServer[] = [];
    for (let index = 0; index < sentinelCount; index += 1) {
      const sentinel = await started(startRedis({ sentinel: true, settings: sentinelSettings(master.port) }));
      await sentinel.cli('SENTINEL', 'DEBUG', ...impatience);
      sentinels.push(sentinel);
    }
    await Promise.all(sentinels.map(knowsAll));
    return new RedisSentinel([master, replica], sentinels);
  } catch (error) {
    await Promise.all(servers.map((server) => server.stop()));
    throw error;
  }
}

function sentinelSettings(masterPort: number): string[] {
  return [
    `sentinel monitor ${masterName} 127.0.0.1 ${masterPort} 2`,
    // Long enough that a busy machine is not taken for a dead master.
    `sentinel down-after-milliseconds ${masterName} 1500`,
    // They look once a second whether the replica was promoted, and give up after this; twice this they wait before
    // they vote again.
    `sentinel failover-timeout ${masterName} 3000`,
    `sentinel parallel-syncs ${masterName} 1`,
  ];
}

function knowsAll(sentinel: RedisServer): Promise<boolean> {
  return eventually(`the sentinel on port ${sentinel.port} to know the others`, async () => {
    const info = await sentinel.cli('INFO', 'sentinel');
    return info.includes(`slaves=1,sentinels=${sentinelCount}`);
  });
}

export class RedisSentinel implements AsyncDisposable {
  readonly masterName = masterName;
  readonly sentinels: readonly RedisServer[];
  #servers: readonly [master: RedisServer, replica: RedisServer];

  constructor(servers: readonly [RedisServer, RedisServer], sentinels: readonly RedisServer[]) {
    this.#servers = servers;
    this.sentinels = sentinels;
  }

  get master(): RedisServer {
    return this.#servers[0];
  }

  get replica(): RedisServer {
    return this.#servers[1];
  }

  /** `host:port` of each. */
  get sentinelAddresses(): string[] {
    return this.sentinels.map(({ port }) => `127.0.0.1:${port}`);
  }

  /**
   * Kills the master; until the replica takes writes and all sentinels name it. It is `master` then, and `replica`
   * the one that was killed: restarted, it follows.
   */
  async failOver(): Promise<void> {
    await this.master.kill();
    await this.#replaced();
  }

  /**
   * An orderly change: the old master lives on as a replica, which answers writes with READONLY. Not for right after
   * a `failOver()`: sentinels that are still busy with the one that came back undo it now and then.
   */
  async switchOver(): Promise<void> {
    const [sentinel] = this.sentinels;
    await eventually('a sentinel that is ready to change the master', () =>
      // It may not have noticed yet that the replica is well.
      sentinel?.cli('SENTINEL', 'FAILOVER', masterName).catch((error: Error) => {
        if (!/NOGOODSLAVE|INPROG/.test(error.message)) throw error;
        return undefined;
      }),
    );
    await this.#replaced();
    await hasRole(this.replica, 'slave');
  }

  /** Until the replica, say after its restart, has what the master has. */
  async replicaFollows(): Promise<void> {
    await isFollowing(this.replica, this.master);
  }

  async stop(): Promise<void> {
    await Promise.all([...this.sentinels, ...this.#servers].map((server) => server.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #replaced(): Promise<void> {
    const [master, replica] = this.#servers;
    await hasRole(replica, 'master');
    await Promise.all(
      this.sentinels.map((sentinel) =>
        eventually(`the sentinel on port ${sentinel.port} to name port ${replica.port}`, async () => {
          const address = await sentinel.cli('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', masterName);
          return address === `127.0.0.1\n${replica.port}`;
        }),
      ),
    );
    this.#servers = [replica, master];
  }
}

/** As both see it: each believes it when the other may not yet. */
function isFollowing(replica: RedisServer, master: RedisServer): Promise<boolean> {
  return eventually(`port ${replica.port} to follow port ${master.port}`, async () => {
    const of = (server: RedisServer) => server.cli('INFO', 'replication').catch(() => '');
    const isUp = (await of(replica)).includes('master_link_status:up');
    return isUp && (await of(master)).includes(`port=${replica.port},state=online`);
  });
}

function hasRole(server: RedisServer, role: 'master' | 'slave'): Promise<boolean> {
  return eventually(`port ${server.port} to be ${role}`, async () => {
    // Its connections are closed when its role changes, and this may be one of them.
    const info = await server.cli('INFO', 'replication').catch(() => '');
    return info.includes(`role:${role}`);
  });
}
