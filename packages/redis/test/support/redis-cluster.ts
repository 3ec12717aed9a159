/** A Redis Cluster of three masters, whose slots move from one to another at a test's word. */
import { eventually } from './eventually.js';
import { freePort } from './free-port.js';
import { type RedisServer, startRedis } from './redis-server.js';

const slots = 16_384;
const size = 3;

/** Once every node says that all is well. Who starts it stops it, or says `await using`. */
export async function startCluster(): Promise<RedisCluster> {
  const nodes: RedisServer[] = [];
  const cluster = new RedisCluster(nodes);
  try {
    for (let index = 0; index < size; index += 1) {
      const busPort = await freePort();
      nodes.push(
        await startRedis({
          settings: ['cluster-enabled yes', `cluster-port ${busPort}`, 'cluster-node-timeout 2000'],
        }),
      );
      await assignSlots(nodes, index);
      // Each meets all before it, so that nobody waits for gossip.
      for (const node of nodes.slice(0, index)) {
        await node.cli('CLUSTER', 'MEET', '127.0.0.1', nodes[index]?.port ?? 0, busPort);
      }
    }
    await Promise.all(nodes.map(isWell));
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

async function assignSlots(nodes: readonly RedisServer[], index: number): Promise<void> {
  const first = Math.ceil((slots * index) / size);
  const last = Math.ceil((slots * (index + 1)) / size) - 1;
  await nodes[index]?.cli('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
  await nodes[index]?.cli('CLUSTER', 'ADDSLOTSRANGE', first, last);
}

function isWell(node: RedisServer): Promise<boolean> {
  return eventually(`the cluster to be well on port ${node.port}`, async () => {
    const info = await node.cli('CLUSTER', 'INFO');
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${size}`);
  });
}

/** A slot on its way: keys that were moved are at the one node, the others still at the other. */
export interface SlotMove {
  readonly slot: number;
  readonly from: RedisServer;
  readonly to: RedisServer;
  /** Those that are there now: clients that ask for one at the old node are answered with ASK from then on. */
  moveKeys(): Promise<void>;
  /** The slot is the new node's, and all know it: clients that ask elsewhere are answered with MOVED. */
  finish(): Promise<void>;
}

export class RedisCluster implements AsyncDisposable {
  readonly nodes: readonly RedisServer[];

  constructor(nodes: readonly RedisServer[]) {
    this.nodes = nodes;
  }

  get urls(): string[] {
    return this.nodes.map(({ url }) => url);
  }

  /** Of the first node: enough to find the others. */
  get url(): string {
    return this.#anyNode.url;
  }

  async slotOf(key: string): Promise<number> {
    return Number(await this.#anyNode.cli('CLUSTER', 'KEYSLOT', key));
  }

  async ownerOf(key: string): Promise<RedisServer> {
    const slot = await this.slotOf(key);
    const port = ownerIn(await this.#anyNode.cli('CLUSTER', 'NODES'), slot);
    const owner = this.nodes.find((node) => node.port === port);
    if (owner === undefined) throw new Error(`no node of the cluster owns slot ${slot} of ${key}`);
    return owner;
  }

  /** One that does not own the key. */
  async otherThanOwnerOf(key: string): Promise<RedisServer> {
    const owner = await this.ownerOf(key);
    return this.nodes.find((node) => node !== owner && node.isRunning) ?? owner;
  }

  /** The key's slot with all that is in it, as a resharding does it, while clients go on. */
  async moveSlotOf(key: string, to: RedisServer): Promise<void> {
    const move = await this.beginMoveOf(key, to);
    await move.moveKeys();
    await move.finish();
  }

  /** Step by step, for what clients meet in between. */
  async beginMoveOf(key: string, to: RedisServer): Promise<SlotMove> {
    const slot = await this.slotOf(key);
    const from = await this.ownerOf(key);
    if (from === to) throw new Error(`slot ${slot} of ${key} is at port ${to.port} already`);
    await to.cli('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from));
    await from.cli('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to));
    return {
      slot,
      from,
      to,
      moveKeys: () => moveKeys(slot, from, to),
      finish: () => this.#finishMove(slot, from, to),
    };
  }

  async stop(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #finishMove(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
    const newOwner = await idOf(to);
    // The new owner first: were it the last, a client could be sent to and fro by two that both disown the slot.
    for (const node of [to, from]) await this.#finishMoveAt(node, slot, newOwner, from, to);
    await Promise.all(
      this.nodes
        .filter((node) => node.isRunning)
        .map((node) =>
          eventually(
            `port ${node.port} to know that slot ${slot} is at port ${to.port}`,
            async () => ownerIn(await node.cli('CLUSTER', 'NODES'), slot) === to.port,
          ),
        ),
    );
  }

  /** Keys that clients made meanwhile are moved as well: the old owner does not let go of a slot with keys. */
  async #finishMoveAt(node: RedisServer, slot: number, newOwner: string, from: RedisServer, to: RedisServer) {
    for (;;) {
      await moveKeys(slot, from, to);
      try {
        await node.cli('CLUSTER', 'SETSLOT', slot, 'NODE', newOwner);
        return;
      } catch (error) {
        if (!String(error).includes('still hold keys')) throw error;
      }
    }
  }

  get #anyNode(): RedisServer {
    const node = this.nodes.find(({ isRunning }) => isRunning);
    if (node === undefined) throw new Error('no node of the cluster is running');
    return node;
  }
}

function idOf(node: RedisServer): Promise<string> {
  return node.cli('CLUSTER', 'MYID');
}

async function moveKeys(slot: number, from: RedisServer, to: RedisServer): Promise<void> {
  for (;;) {
    const listed = await from.cli('CLUSTER', 'GETKEYSINSLOT', slot, 100);
    const keys = listed.split('\n').filter(Boolean);
    if (keys.length === 0) return;
    await from.cli('MIGRATE', '127.0.0.1', to.port, '', 0, 5_000, 'KEYS', ...keys);
  }
}

/** The port of the owner in the lines of CLUSTER NODES: `id ip:port@bus flags … 0-5460 [7->-id]`. */
function ownerIn(listing: string, slot: number): number | undefined {
  for (const line of listing.split('\n')) {
    const [, address = '', , , , , , , ...ranges] = line.split(' ');
    const isOwner = ranges.some((range) => {
      const [first, last = first] = range.split('-').map(Number);
      return first !== undefined && last !== undefined && first <= slot && slot <= last;
    });
    if (isOwner) return Number(/:(\d+)@/.exec(address)?.[1]);
  }
  return undefined;
}
